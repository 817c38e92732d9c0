// Two threads take two locks in opposite order and wait for each other; a watchdog aborts after two seconds.
//
//   g++ -g -O1 -fno-omit-frame-pointer -pthread deadlock.cpp -o deadlock && ./deadlock
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <thread>

using namespace std::chrono_literals;

static std::mutex cache, allocator;

__attribute__((noinline)) static void evict() {
    std::lock_guard<std::mutex> first(cache);
    std::this_thread::sleep_for(100ms);
    std::lock_guard<std::mutex> second(allocator);
}

__attribute__((noinline)) static void allocate() {
    std::lock_guard<std::mutex> first(allocator);
    std::this_thread::sleep_for(100ms);
    std::lock_guard<std::mutex> second(cache);
}

int main() {
    std::thread evictor(evict), requester(allocate);
    std::this_thread::sleep_for(2s);
    std::fputs("watchdog: no progress for 2 s\n", stderr);
    std::abort();
}
