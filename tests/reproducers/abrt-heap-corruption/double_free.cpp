// Frees one buffer twice; with an argument, hands free a pointer into the middle of a block, or writes past the end
// of a block so that the next allocation meets damaged records.
//
//   g++ -g -O1 -fno-omit-frame-pointer double_free.cpp -o double_free && ./double_free [invalid|overrun]
#include <cstdlib>
#include <cstring>

struct Sample {
    char* bytes;
};

__attribute__((noinline)) static void release(Sample* sample) {
    std::free(sample->bytes);
}

__attribute__((noinline)) static void decode(char* block, std::size_t length) {
    std::memset(block, 0x41, length);
}

int main(int argc, char** argv) {
    Sample sample{static_cast<char*>(std::malloc(64))};
    if (argc > 1 && std::strcmp(argv[1], "invalid") == 0) {
        sample.bytes += 8;
        release(&sample);
    } else if (argc > 1) {
        char* block = static_cast<char*>(std::malloc(5000));
        decode(block, 5000 + 32);
        char* volatile next = static_cast<char*>(std::malloc(200000));
        std::free(next);
        std::free(block);
    } else {
        Sample copy = sample; // two owners of one raw pointer
        release(&sample);
        release(&copy);
    }
}
