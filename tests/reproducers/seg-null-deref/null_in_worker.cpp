// A worker thread sums a batch whose data pointer was never set: SIGSEGV at a small address, off the main thread.
//
//   g++ -g -O1 -fno-omit-frame-pointer -pthread null_in_worker.cpp -o null_in_worker && ./null_in_worker
#include <cstddef>
#include <cstdio>
#include <thread>

struct Batch {
    long id;
    const float* pixels;
    std::size_t count;
};

__attribute__((noinline)) static float sum_pixels(const Batch& batch) {
    float sum = 0;
    for (std::size_t i = 0; i < batch.count; ++i) sum += batch.pixels[i];
    return sum;
}

__attribute__((noinline)) static void train_step(const Batch& batch) {
    std::printf("loss %f\n", sum_pixels(batch));
}

int main() {
    Batch batch{7, nullptr, 1024};
    std::thread worker([&] { train_step(batch); });
    worker.join();
}
