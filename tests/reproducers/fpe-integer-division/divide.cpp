// Divides the samples of an empty shard among no workers: SIGFPE, FPE_INTDIV.
//
//   g++ -g -O1 -fno-omit-frame-pointer divide.cpp -o divide && ./divide
#include <cstdio>

__attribute__((noinline)) static int samples_per_worker(int samples, int workers) {
    return samples / workers;
}

int main() {
    volatile int workers = 0;
    std::printf("%d\n", samples_per_worker(1000, workers));
}
