// Runs into a compiler trap behind a switch that was believed complete: SIGILL at a ud2.
//
//   g++ -g -O1 -fno-omit-frame-pointer trap.cpp -o trap && ./trap
#include <cstdio>

enum class Activation { relu, gelu };

__attribute__((noinline)) static float apply(Activation activation, float x) {
    switch (activation) {
    case Activation::relu: return x > 0 ? x : 0;
    case Activation::gelu: return x * 0.5f;
    }
    __builtin_trap();
}

int main() {
    volatile int from_config = 2;
    std::printf("%f\n", apply(static_cast<Activation>(from_config), 1.0f));
}
