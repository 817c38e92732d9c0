/* Two copies of one library in one process: what belongs to the first is handed to the second, which reads a pointer
   where the first has none. The names make the cause: a crash inside of one of two copies.

       gcc -g -O0 -shared -fPIC -DSTRIDE=2 library.c -o venv/libcudnn_ops.so.9
       gcc -g -O0 -shared -fPIC -DSTRIDE=3 library.c -o toolkit/libcudnn_ops.so.9
       gcc -g two_copies.c -o train -ldl
       (ulimit -c unlimited; ./train /opt/job/venv/libcudnn_ops.so.9 /opt/job/toolkit/libcudnn_ops.so.9)

   from /opt/job. Other pairs: libcublas.so.13 twice, libgomp.so.1 and libiomp5.so, libprotobuf.so.32 twice. */
#include <dlfcn.h>
#include <stdio.h>

/* A handle as the first library lays it out. */
struct of_first { int parts; int device; unsigned long workspace; };

int main(int count, char **paths) {
    if (count != 3) return 2;
    void *first = dlopen(paths[1], RTLD_NOW | RTLD_LOCAL);
    void *second = dlopen(paths[2], RTLD_NOW | RTLD_LOCAL);
    if (!first || !second) return 1;
    int (*enter)(void *) = (int (*)(void *))dlsym(second, "enter");
    struct of_first made = {8, 0, 0x10};
    puts("step 1 loss 2.31");
    fflush(stdout);
    return enter(&made);
}
