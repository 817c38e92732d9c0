// Copies a label into a local array that is too small for it.
//
//   g++ -g -O1 -fno-omit-frame-pointer -fstack-protector-all overrun.cpp -o overrun && ./overrun
#include <cstdio>
#include <cstring>

__attribute__((noinline)) static int parse_label(const char* text, std::size_t length) {
    char label[16];
    std::memcpy(label, text, length);
    return label[0];
}

int main() {
    char text[200];
    std::memset(text, 'A', sizeof text);
    volatile std::size_t length = sizeof text;
    std::printf("%d\n", parse_label(text, length));
}
