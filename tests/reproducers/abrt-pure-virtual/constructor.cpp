// A base class's constructor calls a virtual method that only the derived class implements.
//
//   g++ -g -O1 -fno-omit-frame-pointer constructor.cpp -o constructor && ./constructor
#include <cstdio>

struct Dataset {
    Dataset() { warm_up(); }
    virtual ~Dataset() = default;
    __attribute__((noinline)) void warm_up() { load(0); }
    virtual void load(int index) = 0;
};

struct Images : Dataset {
    void load(int index) override { std::printf("image %d\n", index); }
};

int main() {
    Images images;
}
