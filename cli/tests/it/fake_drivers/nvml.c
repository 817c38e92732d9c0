/* A fake of NVIDIA's management library, for tests: no driver, no GPU. What it does is named by FAKE_NVML. Types and
   codes are those of nvml.h. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { SUCCESS = 0, NO_PERMISSION = 4, GPU_IS_LOST = 15, UNKNOWN = 999 };
typedef struct { unsigned long long total, free, used; } memory_v1;
typedef struct { unsigned version; unsigned long long total, reserved, free, used; } memory_v2;

static int looks; /* at the last device */

static int is(const char *way) {
  const char *set = getenv("FAKE_NVML");
  return set && strcmp(set, way) == 0;
}

static void hang(void) { for (;;) pause(); }
static void crash(void) { *(volatile int *)8 = 1; }
static int later(void) { return looks > 3; }
static unsigned index_of(void *device) { return (unsigned)((char *)device - (char *)0) - 1; }

int nvmlInit_v2(void) {
  if (is("hangs at init")) hang();
  if (is("crashes at init")) crash();
  return is("fails at init") ? NO_PERMISSION : SUCCESS;
}
int nvmlShutdown(void) { return SUCCESS; }
const char *nvmlErrorString(int code) { return code == GPU_IS_LOST ? "GPU is lost (fake)" : "an error (fake)"; }
int nvmlSystemGetDriverVersion(char *to, unsigned size) { snprintf(to, size, "999.1-fake"); return SUCCESS; }
int nvmlSystemGetCudaDriverVersion(int *version) { *version = 12080; return SUCCESS; }
int nvmlSystemGetCudaDriverVersion_v2(int *version) { *version = 12080; return SUCCESS; }

#ifndef WITHOUT_COUNT
int nvmlDeviceGetCount_v2(unsigned *count) {
  *count = is("has none") ? 0 : is("counts fewer") && later() ? 1 : 2;
  return SUCCESS;
}
#endif
int nvmlDeviceGetHandleByIndex_v2(unsigned index, void **device) {
  if (is("fails for one") && index == 0) return UNKNOWN;
  *device = (char *)0 + index + 1;
  return SUCCESS;
}
int nvmlDeviceGetName(void *device, char *to, unsigned size) {
  snprintf(to, size, "Fake GPU %u", index_of(device));
  return SUCCESS;
}
int nvmlDeviceGetUUID(void *device, char *to, unsigned size) {
  snprintf(to, size, "GPU-fake-%u", index_of(device));
  return SUCCESS;
}

/* The first device uses more with each look; the last one is where things go wrong. */
static int use(void *device, unsigned long long *used) {
  static unsigned long long grows;
  if (index_of(device) == 1) {
    looks++;
    if (is("hangs later") && later()) hang();
    if (is("crashes later") && later()) crash();
    if (is("loses one") && later()) return GPU_IS_LOST;
    *used = 1 << 20;
  } else {
    *used = ++grows << 20;
  }
  return SUCCESS;
}
int nvmlDeviceGetMemoryInfo(void *device, memory_v1 *memory) {
  memory->total = 80ULL << 30;
  return use(device, &memory->used);
}
#ifndef OLD
int nvmlDeviceGetMemoryInfo_v2(void *device, memory_v2 *memory) {
  memory->total = 80ULL << 30;
  return use(device, &memory->used);
}
#endif
