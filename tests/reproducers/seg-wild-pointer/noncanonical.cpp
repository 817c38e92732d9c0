// Text runs over the pointer behind it; following the pointer is a general protection fault: SIGSEGV with SI_KERNEL
// and address 0, because "MODEL-V2" is no canonical address.
//
//   g++ -g -O1 -fno-omit-frame-pointer noncanonical.cpp -o noncanonical && ./noncanonical
#include <cstdio>
#include <cstring>

struct Layer {
    char name[8];
    const float* weights;
};

__attribute__((noinline)) static void rename_layer(Layer* layer, const char* name) {
    std::memcpy(layer, name, std::strlen(name)); // no check against sizeof layer->name
}

__attribute__((noinline)) static float first_weight(const Layer* layer) {
    return layer->weights[0];
}

int main() {
    static const float weights[4] = {1, 2, 3, 4};
    Layer layer{"conv1", weights};
    rename_layer(&layer, "encoder-MODEL-V2");
    std::printf("%f\n", first_weight(&layer));
}
