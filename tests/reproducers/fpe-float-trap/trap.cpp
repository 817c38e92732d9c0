// Switches floating-point traps on, and takes the mean of no losses: SIGFPE, FPE_FLTINV. With `divide` a loss is divided by
// a weight of zero: FPE_FLTDIV. With `handled` a handler that asks for no details raises the signal again, as Python's
// faulthandler does; with `deferred` the signal is blocked meanwhile, and comes when the handler returns.
//
//   g++ -g -O1 -fno-omit-frame-pointer trap.cpp -o trap && ./trap [divide] [handled|deferred]
#include <cfenv>
#include <csignal>
#include <cstdio>
#include <cstring>

__attribute__((noinline)) static double mean(double sum, double count) {
    return sum / count;
}

static void raise_again(int number) {
    std::signal(number, SIG_DFL);
    std::raise(number);
}

static void handle(bool deferred) {
    struct sigaction action = {};
    action.sa_handler = raise_again;
    action.sa_flags = deferred ? 0 : SA_NODEFER;
    sigaction(SIGFPE, &action, nullptr);
}

int main(int count, char **arguments) {
    volatile double sum = 0;
    volatile double losses = 0;
    for (int index = 1; index < count; index++) {
        if (!std::strcmp(arguments[index], "divide"))
            sum = 2.5;
        else
            handle(!std::strcmp(arguments[index], "deferred"));
    }
    feenableexcept(FE_DIVBYZERO | FE_INVALID | FE_OVERFLOW);
    std::printf("%f\n", mean(sum, losses));
}
