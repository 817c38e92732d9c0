/* A library that stands for NCCL: see two_copies.c. */
struct comm { int ranks; const int *ring; };

int ncclCommCount(struct comm *comm) { return comm->ranks; }

int ncclAllReduce(struct comm *comm) {
    int sum = 0;
    for (int i = 0; i < comm->ranks; i++) sum += comm->ring[i * STRIDE];
    return sum;
}
