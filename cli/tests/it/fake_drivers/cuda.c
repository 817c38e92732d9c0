/* A fake of the CUDA driver's library, for tests: no driver, no GPU. What it does is named by FAKE_CUDA. Types and codes
   are those of cuda.h. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { SUCCESS = 0, NO_DEVICE = 100, INVALID_DEVICE = 101, OF_A_NEWER_DRIVER = 4711 };

static int is(const char *way) {
  const char *set = getenv("FAKE_CUDA");
  return set && strcmp(set, way) == 0;
}

int cuInit(unsigned flags) {
  if (is("hangs")) for (;;) pause();
  if (is("crashes")) *(volatile int *)8 = 1;
  if (is("fails in a new way")) return OF_A_NEWER_DRIVER;
  return is("has none") ? NO_DEVICE : SUCCESS;
}
int cuDriverGetVersion(int *version) { *version = 13000; return SUCCESS; }
int cuDeviceGetCount(int *count) { *count = 2; return SUCCESS; }
int cuDeviceGet(int *device, int index) {
  if (is("loses one") && index == 0) return INVALID_DEVICE;
  *device = index;
  return SUCCESS;
}
int cuDeviceGetName(char *to, int size, int device) { snprintf(to, size, "Fake GPU %d", device); return SUCCESS; }
int cuDeviceGetPCIBusId(char *to, int size, int device) { snprintf(to, size, "0000:0%d:00.0", device); return SUCCESS; }
int cuDeviceTotalMem_v2(size_t *bytes, int device) { *bytes = (size_t)80 << 30; return SUCCESS; }
int cuDeviceGetAttribute(int *value, int attribute, int device) {
  *value = attribute == 75 ? 9 : attribute == 16 ? 132 : 0;
  return SUCCESS;
}
int cuDeviceGetUuid(unsigned char *uuid, int device) { memset(uuid, 0x10 + device, 16); return SUCCESS; }
#ifndef OLD
int cuDeviceGetUuid_v2(unsigned char *uuid, int device) {
  memset(uuid, (is("is partitioned") ? 0xa0 : 0x10) + device, 16);
  return SUCCESS;
}
int cuDeviceCanAccessPeer(int *can, int device, int peer) { *can = device < peer; return SUCCESS; }
int cuGetErrorName(int code, const char **name) {
  *name = code == NO_DEVICE ? "CUDA_ERROR_NO_DEVICE" : code == INVALID_DEVICE ? "CUDA_ERROR_INVALID_DEVICE" : 0;
  return *name ? SUCCESS : 1;
}
#endif
