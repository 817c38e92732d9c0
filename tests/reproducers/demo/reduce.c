/* Sums a list of shards on a worker thread. The last shard was never filled in: its values are a null pointer, and
 * the thread dies a few calls deep while the main thread waits in pthread_join(3). */

#include <pthread.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

struct shard {
    size_t length;
    const double *values;
};

struct job {
    size_t count;
    struct shard *shards;
    double total;
};

static __attribute__((noinline)) double sum_values(const double *values, size_t length)
{
    double sum = 0;
    for (size_t i = 0; i < length; i++)
        sum += values[i];
    return sum;
}

static __attribute__((noinline)) double reduce_shard(const struct shard *shard)
{
    return sum_values(shard->values, shard->length) / (double)shard->length;
}

static __attribute__((noinline)) void reduce_job(struct job *job)
{
    for (size_t i = 0; i < job->count; i++) {
        job->total += reduce_shard(&job->shards[i]);
        printf("shard %zu: running total %g\n", i, job->total);
        fflush(stdout);
    }
}

static void *worker(void *argument)
{
    reduce_job(argument);
    return NULL;
}

int main(void)
{
    enum { SHARDS = 3, LENGTH = 1024 };
    struct shard *shards = calloc(SHARDS, sizeof *shards);
    double *values = malloc(LENGTH * sizeof *values);
    if (shards == NULL || values == NULL)
        return 1;
    for (size_t i = 0; i < LENGTH; i++)
        values[i] = (double)i;
    for (size_t i = 0; i < SHARDS; i++) {
        shards[i].length = LENGTH;
        if (i + 1 < SHARDS)
            shards[i].values = values;
    }

    struct job job = {SHARDS, shards, 0};
    pthread_t thread;
    if (pthread_create(&thread, NULL, worker, &job) != 0)
        return 1;
    pthread_join(thread, NULL);
    printf("total %g\n", job.total);
    return 0;
}
