/* A fake of NVIDIA's management library, for tests: no driver, no GPU. What it does is named by FAKE_NVML. Types and
   codes are those of nvml.h. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { SUCCESS = 0, NOT_SUPPORTED = 3, NO_PERMISSION = 4, INSUFFICIENT_SIZE = 7, TIMEOUT = 10, GPU_IS_LOST = 15, UNKNOWN = 999 };
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

/* How a device does: the first one is well, and the last one is not. */
#ifndef OLD
typedef struct { unsigned gpu, memory; } utilization;
typedef struct { unsigned pid; unsigned long long used; unsigned instance, compute_instance; } process;
typedef struct {
  unsigned field, scope;
  long long timestamp, latency;
  unsigned type;
  int result;
  union { double d; unsigned ui; unsigned long long ull; } value;
} field_value;
typedef struct { void *device; unsigned long long type, data; unsigned instance, compute_instance; } event;

static int is_ill(void *device) { return index_of(device) == 1 && later(); }

int nvmlDeviceGetClockInfo(void *device, int clock, unsigned *mhz) {
  *mhz = clock == 2 ? 2600 : is_ill(device) ? 345 : 1980;
  return SUCCESS;
}
int nvmlDeviceGetCurrentClocksThrottleReasons(void *device, unsigned long long *reasons) {
  *reasons = is_ill(device) ? 0x8 | 0x40 : 0x1;
  return SUCCESS;
}
int nvmlDeviceGetTemperature(void *device, int sensor, unsigned *celsius) {
  *celsius = is_ill(device) ? 92 : 41;
  return SUCCESS;
}
int nvmlDeviceGetPowerUsage(void *device, unsigned *milliwatts) { *milliwatts = 312000; return SUCCESS; }
int nvmlDeviceGetUtilizationRates(void *device, utilization *rates) {
  rates->gpu = 87;
  rates->memory = 5;
  return SUCCESS;
}
int nvmlDeviceGetTotalEccErrors(void *device, int kind, int counter, unsigned long long *count) {
  if (index_of(device) == 0) return NOT_SUPPORTED;
  *count = is_ill(device) ? 10 + kind : 0;
  return SUCCESS;
}
int nvmlDeviceGetRemappedRows(void *device, unsigned *corrected, unsigned *uncorrected, unsigned *pending, unsigned *failed) {
  *corrected = *failed = 0;
  *uncorrected = *pending = is_ill(device);
  return SUCCESS;
}
int nvmlDeviceGetPcieReplayCounter(void *device, unsigned *count) { *count = is_ill(device) ? 7 : 0; return SUCCESS; }
int nvmlDeviceGetFieldValues(void *device, int count, field_value *values) {
  for (int i = 0; i < count; i++) {
    values[i].type = 3;
    values[i].result = SUCCESS;
    values[i].value.ull = is_ill(device) ? 5 : 0;
  }
  return SUCCESS;
}
int nvmlDeviceGetComputeRunningProcesses_v3(void *device, unsigned *count, process *processes) {
  unsigned all = index_of(device) == 0 ? 0 : later() ? 1 : 2, room = *count;
  *count = all;
  if (room < all) return INSUFFICIENT_SIZE;
  for (unsigned i = 0; i < all; i++) processes[i] = (process){4711 + i, 1 << 20, 0, 0};
  return SUCCESS;
}

/* The last device tells of two errors, once. */
static int told;
int nvmlDeviceGetSupportedEventTypes(void *device, unsigned long long *types) { *types = 8; return SUCCESS; }
int nvmlDeviceRegisterEvents(void *device, unsigned long long types, void *set) { return SUCCESS; }
int nvmlEventSetCreate(void **set) { *set = &told; return SUCCESS; }
int nvmlEventSetFree(void *set) { return SUCCESS; }
int nvmlEventSetWait_v2(void *set, event *happened, unsigned milliseconds) {
  static const unsigned codes[] = {48, 63};
  if (is("loses its events")) return GPU_IS_LOST;
  if (is("tells of errors") && later() && told < 2) {
    *happened = (event){(char *)0 + 2, 8, codes[told++], 0, 0};
    return SUCCESS;
  }
  usleep(milliseconds * 1000);
  return TIMEOUT;
}
#endif
