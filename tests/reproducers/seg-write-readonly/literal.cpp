// Writes into a string literal through a cast: SIGSEGV with SEGV_ACCERR.
//
//   g++ -g -O1 -fno-omit-frame-pointer literal.cpp -o literal && ./literal
#include <cctype>
#include <cstdio>

__attribute__((noinline)) static void upper_case(char* text) {
    for (; *text != '\0'; ++text) *text = static_cast<char>(std::toupper(*text));
}

int main() {
    const char* volatile name = "resnet50";
    upper_case(const_cast<char*>(name));
    std::puts(name);
}
