// A batch of the wrong size fails an assertion.
//
//   g++ -g -O1 -fno-omit-frame-pointer assert.cpp -o assert && ./assert
#include <cassert>
#include <cstddef>
#include <cstdio>

__attribute__((noinline)) static void collate(std::size_t items, std::size_t batch_size) {
    assert(items == batch_size && "incomplete batch");
    std::printf("%zu items\n", items);
}

int main() {
    collate(8, 8);
    collate(5, 8);
}
