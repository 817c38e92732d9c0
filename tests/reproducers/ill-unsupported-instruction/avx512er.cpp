// Executes vexp2ps, which only the Xeon Phi processors had (AVX-512ER): SIGILL everywhere else.
//
//   g++ -g -O1 -fno-omit-frame-pointer avx512er.cpp -o avx512er && ./avx512er
#include <cstdio>

__attribute__((noinline)) static void fast_exp2() {
    // vexp2ps zmm0, zmm0: written as bytes, since current assemblers no longer know it.
    asm volatile(".byte 0x62, 0xf2, 0x7d, 0x48, 0xc8, 0xc0");
}

int main() {
    std::puts("choosing the AVX-512ER kernel");
    std::fflush(stdout);
    fast_exp2();
}
