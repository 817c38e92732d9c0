// A prefetch thread reads a buffer that close() frees without joining the thread first. The buffer is large, so free
// returns it to the system and the next read faults.
//
//   g++ -g -O1 -fno-omit-frame-pointer -pthread prefetch.cpp -o prefetch && ./prefetch
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdlib>
#include <thread>

static constexpr std::size_t kCount = 4 << 20;

class Prefetcher {
public:
    Prefetcher() : samples_(static_cast<float*>(std::calloc(kCount, sizeof(float)))) {}
    void start() { thread_ = std::thread([this] { loop(); }); }
    void close() {
        std::free(samples_); // before the thread has stopped
        thread_.join();
    }

private:
    __attribute__((noinline)) float decode_all() const {
        float sum = 0;
        for (std::size_t i = 0; i < kCount; ++i) sum += samples_[i];
        return sum;
    }
    void loop() {
        for (;;) total_ = total_ + decode_all();
    }

    float* samples_;
    volatile float total_ = 0;
    std::thread thread_;
};

int main() {
    Prefetcher prefetcher;
    prefetcher.start();
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    prefetcher.close();
}
