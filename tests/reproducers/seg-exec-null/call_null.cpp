// Calls a callback that nobody registered: the instruction pointer becomes 0.
//
//   g++ -g -O1 -fno-omit-frame-pointer call_null.cpp -o call_null && ./call_null
#include <cstdio>

struct Hooks {
    void (*on_step)(int);
};

__attribute__((noinline)) static void run_hooks(const volatile Hooks& hooks, int step) {
    hooks.on_step(step);
    std::puts("step done");
}

int main() {
    Hooks hooks{nullptr};
    run_hooks(hooks, 3);
}
