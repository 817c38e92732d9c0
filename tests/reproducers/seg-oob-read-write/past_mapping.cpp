// A loop trusts a count that is larger than its buffer and runs off the mapping.
//
//   g++ -g -O1 -fno-omit-frame-pointer past_mapping.cpp -o past_mapping && ./past_mapping
#include <cstddef>
#include <cstdio>
#include <sys/mman.h>

__attribute__((noinline)) static double mean(const float* values, std::size_t count) {
    double sum = 0;
    for (std::size_t i = 0; i < count; ++i) sum += values[i];
    return sum / static_cast<double>(count);
}

int main() {
    // Two pages, the second of them taken away again, so that the buffer ends where the mapping does.
    const std::size_t page = 4096;
    void* map = mmap(nullptr, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    munmap(static_cast<char*>(map) + page, page);
    std::printf("%f\n", mean(static_cast<const float*>(map), 1 << 20));
}
