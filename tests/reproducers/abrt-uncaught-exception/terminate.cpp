// An exception leaves the main function, or with an argument a thread or a noexcept function. With `corrupted` it speaks of a
// file in words that the C library has for the heap.
//
//   g++ -g -O1 -fno-omit-frame-pointer -pthread terminate.cpp -o terminate && ./terminate [thread|noexcept|corrupted]
#include <cstring>
#include <stdexcept>
#include <string>
#include <thread>

__attribute__((noinline)) static void check_loss(double loss, int step) {
    if (loss != loss) throw std::runtime_error("loss is NaN at step " + std::to_string(step));
}

__attribute__((noinline)) static void check_loss_noexcept(double loss, int step) noexcept {
    check_loss(loss, step);
}

__attribute__((noinline)) static void open_shard(const std::string& name) {
    throw std::runtime_error(name + ": corrupted size vs. index, free() space or chunk size is wrong");
}

int main(int argc, char** argv) {
    volatile double zero = 0;
    double loss = zero / zero;
    if (argc > 1 && std::strcmp(argv[1], "thread") == 0) {
        std::thread watcher([=] { check_loss(loss, 12); });
        watcher.join();
    } else if (argc > 1 && std::strcmp(argv[1], "corrupted") == 0) {
        open_shard("shard-00017.bin");
    } else if (argc > 1) {
        check_loss_noexcept(loss, 12);
    } else {
        check_loss(loss, 12);
    }
}
