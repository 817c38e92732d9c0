// Functions that a native library calls back into Python with, by mistake: each uses the C API as it finds it. Called
// through ctypes.CDLL, which gives up the GIL, all but the last find no thread state.
//
//   g++ -g -O1 -fno-omit-frame-pointer -shared -fPIC -pthread callback.cpp -o callback.so
//   python -c 'import ctypes; ctypes.CDLL("./callback.so").make_labels()'
#include <thread>

extern "C" {
void* PyList_New(long size);
int PyList_Append(void* list, void* item);

__attribute__((noinline)) void make_labels() {
    PyList_New(4);
}

void make_labels_in_thread() {
    std::thread worker(make_labels);
    worker.join();
}

// With ctypes.PyDLL: the GIL is held, and the list is null.
__attribute__((noinline)) int add_label() {
    return PyList_Append(nullptr, nullptr);
}
}
