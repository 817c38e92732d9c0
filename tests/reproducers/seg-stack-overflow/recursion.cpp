// A tree walk over data with a cycle never ends: SIGSEGV just below the stack. With the argument "worker" it happens
// on a thread with a 256 KiB stack.
//
//   g++ -g -O1 -fno-omit-frame-pointer -pthread recursion.cpp -o recursion && ./recursion [worker]
#include <cstdio>
#include <cstring>
#include <pthread.h>

struct Node {
    Node* child;
    int weight;
};

__attribute__((noinline)) static int total_weight(const Node* node) {
    char scratch[512];
    std::memset(scratch, node->weight, sizeof scratch);
    if (node->child == nullptr) return scratch[0];
    return total_weight(node->child) + scratch[node->weight];
}

static void* walk(void*) {
    Node leaf{nullptr, 1}, root{&leaf, 2};
    leaf.child = &root; // the cycle
    std::printf("%d\n", total_weight(&root));
    return nullptr;
}

int main(int argc, char**) {
    if (argc < 2) return walk(nullptr) != nullptr;
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, 256 * 1024);
    pthread_t worker;
    pthread_create(&worker, &attributes, walk, nullptr);
    pthread_join(worker, nullptr);
}
