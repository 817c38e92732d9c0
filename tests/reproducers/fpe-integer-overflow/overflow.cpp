// Divides the smallest integer, which stands for "no sample yet", by a stride of -1: SIGFPE, FPE_INTDIV, and no zero
// anywhere. With `memory` the divisor is read from memory by the instruction itself.
//
//   g++ -g -O1 -fno-omit-frame-pointer overflow.cpp -o overflow && ./overflow [memory]
#include <climits>
#include <cstdio>

__attribute__((noinline)) static int steps_back(int position, int stride) {
    return position / stride;
}

__attribute__((noinline)) static long long steps_back_of(long long position, const long long *stride) {
    long long steps, rest;
    __asm__("cqto\n\tidivq %3" : "=a"(steps), "=&d"(rest) : "a"(position), "m"(*stride));
    return steps;
}

int main(int count, char **) {
    volatile int position = INT_MIN;
    volatile int stride = -1;
    if (count > 1) {
        const long long wide = stride;
        std::printf("%lld\n", steps_back_of(LLONG_MIN, &wide));
    }
    std::printf("%d\n", steps_back(position, stride));
}
