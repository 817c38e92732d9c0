// Maps a data file, and another part of the program truncates it before the map is read: SIGBUS, BUS_ADRERR.
//
//   g++ -g -O1 -fno-omit-frame-pointer truncate.cpp -o truncate && ./truncate
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <sys/mman.h>
#include <unistd.h>

static const std::size_t kBytes = 64 * 1024;

__attribute__((noinline)) static long read_samples(const unsigned char* samples) {
    long sum = 0;
    for (std::size_t i = 0; i < kBytes; ++i) sum += samples[i];
    return sum;
}

int main() {
    char path[] = "/tmp/samples-XXXXXX";
    int file = mkstemp(path);
    if (file < 0 || ftruncate(file, kBytes) != 0) return 1;
    void* map = mmap(nullptr, kBytes, PROT_READ, MAP_SHARED, file, 0);
    unlink(path);
    std::printf("whole: %ld\n", read_samples(static_cast<unsigned char*>(map)));
    if (ftruncate(file, 4096) != 0) return 1; // somebody writes a new version in place
    std::printf("cut: %ld\n", read_samples(static_cast<unsigned char*>(map)));
}
