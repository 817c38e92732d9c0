/* Two libraries of one name in one process: what the older one made is handed to the newer one, which reads a pointer
   where the older one has none.

       gcc -g -O0 -shared -fPIC -DSTRIDE=2 library.c -o site/libnccl.so.2
       gcc -g -O0 -shared -fPIC -DSTRIDE=3 library.c -o venv/libnccl.so.2
       gcc -g two_copies.c -o train -ldl && (ulimit -c unlimited; ./train)

   from /opt/job, where both folders are. */
#include <dlfcn.h>
#include <stdio.h>

/* A communicator as the older library lays it out. */
struct communicator { int ranks; int rank; unsigned long hash; };

int main(void) {
    void *older = dlopen("/opt/job/site/libnccl.so.2", RTLD_NOW | RTLD_LOCAL);
    void *newer = dlopen("/opt/job/venv/libnccl.so.2", RTLD_NOW | RTLD_LOCAL);
    if (!older || !newer) return 1;
    int (*all_reduce)(void *) = (int (*)(void *))dlsym(newer, "ncclAllReduce");
    struct communicator made = {8, 0, 0x10};
    puts("step 1 loss 2.31");
    fflush(stdout);
    return all_reduce(&made);
}
