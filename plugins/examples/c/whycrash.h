// The plugin interface (wit/) as C structures: the component model's canonical ABI lays records, lists and variants
// out as C does on 32-bit WebAssembly. There is no C library: what is needed stands here.
#ifndef WHYCRASH_H
#define WHYCRASH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// A text of UTF-8 without an end mark.
typedef struct {
  const char *at;
  size_t bytes;
} wc_text;

typedef struct {
  wc_text *at;
  size_t count;
} wc_texts;

typedef struct {
  bool is_some;
  wc_text text;
} wc_optional_text;

// What a plugin says about itself.
typedef struct {
  wc_text name, version;
  wc_texts causes, needs_any_of, needs_all_of;
} wc_info;

// A line of a text artifact; its number is counted from 1.
typedef struct {
  wc_text artifact;
  uint64_t number;
  wc_text text;
} wc_line;

typedef struct {
  wc_line *at;
  size_t count;
} wc_lines;

// A piece of software, the version of it that was there, and the fact that says so (`wit/evidence.wit`).
typedef struct {
  wc_text name, version, fact;
} wc_software;

typedef struct {
  wc_software *at;
  size_t count;
} wc_softwares;

enum { WC_LINES, WC_FRAME, WC_EVENT, WC_BYTES, WC_FACT };

// A place and what stands there. The host checks both.
typedef struct {
  wc_text artifact;
  uint8_t kind;
  union {
    struct { uint64_t first, last; } lines;
    struct { wc_text thread; uint32_t index; } frame;
    uint32_t event;
    struct { uint64_t first, end; } bytes;
    wc_text fact;
  } at;
  wc_text quote;
} wc_citation;

typedef struct {
  wc_citation *at;
  size_t count;
} wc_citations;

// The claim that a documented cause explains the report; its confidence is from 0 to 1.
typedef struct {
  wc_text cause;
  wc_optional_text title;
  double confidence;
  wc_text explanation;
  wc_citations citations, contradictions;
  wc_optional_text first_step;
} wc_finding;

typedef struct {
  wc_text artifact, how;
  wc_texts decides_between;
} wc_collect_next;

// What `diagnose` returns. Nothing is the right answer when nothing fits; an error makes the run a failed one.
typedef struct {
  uint8_t is_error;
  union {
    struct {
      struct { wc_finding *at; size_t count; } findings;
      struct { wc_collect_next *at; size_t count; } next;
    } diagnosis;
    wc_text error;
  } value;
} wc_result;

// A report, while it is diagnosed.
typedef int32_t wc_report;

#define WC_TEXT(literal) ((wc_text){(literal), sizeof(literal) - 1})
#ifdef __wasm__
#define WC_EXPORT(name) __attribute__((export_name(name)))
#define WC_IMPORT(module, name) __attribute__((import_module(module), import_name(name)))
#else
// A plugin's tests are programs of this machine: test/report.h has what the host does elsewhere.
#include <stdlib.h>
#define WC_EXPORT(name)
#define WC_IMPORT(module, name)
#endif
#define WC_EVIDENCE "whycrash:plugin/evidence@1.1.0"

WC_IMPORT("$root", "log") void wc_log_raw(const char *at, size_t bytes);
WC_IMPORT(WC_EVIDENCE, "[resource-drop]report") void wc_drop_report(wc_report report);
WC_IMPORT(WC_EVIDENCE, "[method]report.search")
void wc_search_raw(wc_report report, int32_t in_one, const char *artifact, size_t artifact_bytes, const char *pattern,
                   size_t pattern_bytes, uint32_t limit, void *answer);
WC_IMPORT(WC_EVIDENCE, "[method]report.fact")
void wc_fact_raw(wc_report report, const char *path, size_t path_bytes, void *answer);
WC_IMPORT(WC_EVIDENCE, "[method]report.software")
void wc_software_raw(wc_report report, int32_t is_named, const char *name, size_t name_bytes, void *answer);

// Memory that is never given back: a run is short, and everything of it ends with it.
#ifndef __wasm__
static char *wc_take(size_t bytes) {
  char *at = malloc(bytes + 1);
  if (!at) abort();
  return at;
}
#else
static char *wc_take(size_t bytes) {
  extern char __heap_base;
  static char *free_from = &__heap_base;
  char *at = (char *)(((uintptr_t)free_from + 7) & ~(uintptr_t)7);
  free_from = at + bytes;
  size_t have = __builtin_wasm_memory_size(0) * 65536;
  if ((uintptr_t)free_from > have &&
      __builtin_wasm_memory_grow(0, ((uintptr_t)free_from - have) / 65536 + 1) == (size_t)-1) {
    __builtin_trap();
  }
  return at;
}

// The host asks for memory to put its answers in.
WC_EXPORT("cabi_realloc") void *wc_realloc(void *old, size_t old_bytes, size_t align, size_t bytes) {
  char *at = wc_take(bytes);
  for (size_t i = 0; i < old_bytes && i < bytes; i++) at[i] = ((char *)old)[i];
  return at;
}
#endif

// Two texts as one.
static wc_text wc_join(wc_text first, wc_text second) {
  char *at = wc_take(first.bytes + second.bytes);
  for (size_t i = 0; i < first.bytes; i++) at[i] = first.at[i];
  for (size_t i = 0; i < second.bytes; i++) at[first.bytes + i] = second.at[i];
  return (wc_text){at, first.bytes + second.bytes};
}

// What stands behind the first place at which `mark` stands; the whole text where it does not.
static wc_text wc_after(wc_text text, wc_text mark) {
  for (size_t start = 0; start + mark.bytes <= text.bytes; start++) {
    size_t same = 0;
    while (same < mark.bytes && text.at[start + same] == mark.at[same]) same++;
    if (same == mark.bytes) return (wc_text){text.at + start + same, text.bytes - start - same};
  }
  return text;
}

// Keeps a line with the run, for whoever develops the plugin.
static inline void wc_log(wc_text line) { wc_log_raw(line.at, line.bytes); }

// Lines of all text artifacts that match a pattern; none where the pattern is wrong.
static inline wc_lines wc_search(wc_report report, wc_text pattern, uint32_t limit) {
  struct { uint8_t is_error; wc_lines lines; } answer = {0};
  wc_search_raw(report, 0, 0, 0, pattern.at, pattern.bytes, limit, &answer);
  return answer.is_error ? (wc_lines){0} : answer.lines;
}

// The JSON at a dotted path into the evidence, such as `crash.signal`.
static inline wc_optional_text wc_fact(wc_report report, wc_text path) {
  wc_optional_text answer = {0};
  wc_fact_raw(report, path.at, path.bytes, &answer);
  return answer;
}

// Software of this name, such as `nccl`, whose version the evidence tells; witnesses may contradict each other.
static inline wc_softwares wc_software_called(wc_report report, wc_text name) {
  wc_softwares answer = {0};
  wc_software_raw(report, 1, name.at, name.bytes, &answer);
  return answer;
}

#endif
