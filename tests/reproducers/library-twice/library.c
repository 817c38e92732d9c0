/* A library that stands for one of CUDA's, of OpenMP's or of C++'s: see two_copies.c. */
struct handle { int parts; const int *table; };

int enter(struct handle *handle) {
    int sum = 0;
    for (int i = 0; i < handle->parts; i++) sum += handle->table[i * STRIDE];
    return sum;
}
