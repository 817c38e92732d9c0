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
WC_IMPORT(WC_EVIDENCE, "[method]report.lines")
void wc_lines_raw(wc_report report, const char *artifact, size_t artifact_bytes, uint64_t first, uint32_t count,
                  void *answer);
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

// Ends the run as a failed one, and says why and at which line of which file: a trap alone does not.
#define WC_FAIL(why) wc_fail(__FILE__, __LINE__, WC_TEXT(why))
#define WC_ASSERT(is_so) \
  do { \
    if (!(is_so)) wc_fail(__FILE__, __LINE__, WC_TEXT("this does not hold: " #is_so)); \
  } while (0)

static inline size_t wc_bytes_of(const char *text) {
  size_t bytes = 0;
  while (text[bytes]) bytes++;
  return bytes;
}

static inline void wc_fail(const char *file, unsigned line, wc_text why) {
  char digits[10];
  size_t first = sizeof digits;
  do digits[--first] = '0' + line % 10; while (line /= 10);
  wc_text place = wc_join((wc_text){file, wc_bytes_of(file)}, WC_TEXT(":"));
  place = wc_join(wc_join(WC_TEXT("panicked at "), place), (wc_text){digits + first, sizeof digits - first});
  wc_log(wc_join(wc_join(place, WC_TEXT(": ")), why));
  __builtin_trap();
}

// A citation of a line.
static inline wc_citation wc_cite(const wc_line *line) {
  enum { QUOTE_BYTES = 400 };
  wc_text quote = line->text;
  while (quote.bytes && (quote.at[0] == ' ' || quote.at[0] == '\t')) quote.at++, quote.bytes--;
  while (quote.bytes && (quote.at[quote.bytes - 1] == ' ' || quote.at[quote.bytes - 1] == '\t')) quote.bytes--;
  if (quote.bytes > QUOTE_BYTES) quote.bytes = QUOTE_BYTES;
  // Whole characters.
  while (quote.bytes < line->text.bytes && quote.bytes == QUOTE_BYTES && (quote.at[quote.bytes] & 0xc0) == 0x80) quote.bytes--;
  wc_citation citation = {.artifact = line->artifact, .kind = WC_LINES, .quote = quote};
  citation.at.lines.first = citation.at.lines.last = line->number;
  return citation;
}

static inline bool wc_is_key(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '.' || c == '/' ||
         c == '-';
}

static inline bool wc_is_one_of(char c, const char *of) {
  while (*of && *of != c) of++;
  return *of;
}

static inline bool wc_same(wc_text one, wc_text other) {
  size_t same = 0;
  while (same < one.bytes && same < other.bytes && one.at[same] == other.at[same]) same++;
  return one.bytes == other.bytes && same == one.bytes;
}

// The value of `key=value` or `key: value` in a line; of a key that comes twice the last.
static inline wc_optional_text wc_key_value(wc_text line, wc_text key) {
  wc_optional_text found = {0};
  const char *at = line.at, *end = line.at + line.bytes;
  while (at < end) {
    while (at < end && !wc_is_key(*at)) at++;
    wc_text word = {at, 0};
    while (at < end && wc_is_key(*at)) at++, word.bytes++;
    bool begins_well = word.bytes && !wc_is_one_of(*word.at, "0123456789./-");
    const char *sign = at;
    if (sign < end && wc_is_one_of(*sign, "\"'")) sign++;
    while (sign < end && wc_is_one_of(*sign, " \t")) sign++;
    const char *value = sign + 1;
    bool is_pair = begins_well && sign < end && wc_is_one_of(*sign, "=:") && !(value < end && *value == *sign) &&
                   !(*sign == ':' && value + 1 < end && value[0] == '/' && value[1] == '/');
    if (!is_pair) continue;
    while (value < end && wc_is_one_of(*value, " \t")) value++;
    const char *behind = value;
    if (behind < end && wc_is_one_of(*behind, "\"'")) {
      for (behind = value + 1; behind < end && *behind != *value;) behind++;
      if (behind == end) continue;
      value++;
      at = behind + 1;
    } else {
      while (behind < end && !wc_is_one_of(*behind, " \t\n\r\v\f,;|()[]{}\"'")) behind++;
      if (behind == value) continue;
      at = behind;
    }
    if (wc_same(word, key)) found = (wc_optional_text){true, {value, behind - value}};
  }
  return found;
}

static inline bool wc_is_word(wc_text text, const char *word) {
  size_t same = 0;
  while (same < text.bytes && word[same] && (text.at[same] | 0x20) == word[same]) same++;
  return same == text.bytes && !word[same];
}

// The number that a value is, also with a unit behind it; `nan` and `inf` are numbers here.
static inline bool wc_number(wc_text text, double *number) {
  const char *at = text.at, *end = text.at + text.bytes;
  bool is_negative = at < end && *at == '-';
  if (at < end && wc_is_one_of(*at, "+-")) at++;
  wc_text bare = {at, end - at};
  if (wc_is_word(bare, "nan")) return *number = __builtin_nan(""), true;
  if (wc_is_word(bare, "inf") || wc_is_word(bare, "infinity")) {
    return *number = is_negative ? -__builtin_inf() : __builtin_inf(), true;
  }
  double value = 0;
  int digits = 0, scale = 0;
  for (; at < end && *at >= '0' && *at <= '9'; at++, digits++) value = value * 10 + (*at - '0');
  if (at < end && *at == '.') {
    for (at++; at < end && *at >= '0' && *at <= '9'; at++, digits++, scale--) value = value * 10 + (*at - '0');
  }
  if (!digits) return false;
  const char *exponent = at + 1;
  if (at < end && wc_is_one_of(*at, "eE")) {
    bool is_small = exponent < end && *exponent == '-';
    if (exponent < end && wc_is_one_of(*exponent, "+-")) exponent++;
    int power = 0;
    bool has_power = exponent < end && *exponent >= '0' && *exponent <= '9';
    for (; has_power && exponent < end && *exponent >= '0' && *exponent <= '9'; exponent++) {
      if (power < 1000) power = power * 10 + (*exponent - '0');
    }
    if (has_power) scale += is_small ? -power : power, at = exponent;
  }
  if (at + 1 == end && *at == '%') at++;
  while (at < end && wc_is_key(*at) && !wc_is_one_of(*at, "0123456789._-")) at++;
  if (at != end) return false;
  double power = 1;
  for (int left = scale < 0 ? -scale : scale; left > 0; left--) power *= 10;
  value = scale < 0 ? value / power : value * power;
  *number = is_negative ? -value : value;
  return true;
}

// What a line says of a number.
typedef struct {
  const wc_line *line;
  double value;
} wc_point;

typedef struct {
  wc_point *at;
  size_t count;
} wc_points;

// What these lines say of the number with this key, in their order.
static inline wc_points wc_series(wc_lines lines, wc_text key) {
  wc_points points = {(wc_point *)wc_take(lines.count * sizeof(wc_point)), 0};
  for (size_t i = 0; i < lines.count; i++) {
    wc_optional_text value = wc_key_value(lines.at[i].text, key);
    double number;
    if (value.is_some && wc_number(value.text, &number)) points.at[points.count++] = (wc_point){&lines.at[i], number};
  }
  return points;
}

// The number that so many digits are; -1 where they are none.
static inline int64_t wc_digits(const char *at, const char *end, int count) {
  int64_t number = 0;
  if (end - at < count) return -1;
  for (; count > 0; count--, at++) {
    if (*at < '0' || *at > '9') return -1;
    number = number * 10 + (*at - '0');
  }
  return number;
}

// `2026-01-02T03:04:05.678+01:00`, with what may stand in the place of its marks, and without what may be left out.
static inline bool wc_time_at(const char *at, const char *end, double *seconds) {
  if (end - at < 19) return false;
  bool is_time = wc_is_one_of(at[4], "-/") && wc_is_one_of(at[7], "-/") && wc_is_one_of(at[10], "T ") && at[13] == ':' &&
                 at[16] == ':';
  int64_t year = wc_digits(at, end, 4), month = wc_digits(at + 5, end, 2), day = wc_digits(at + 8, end, 2);
  int64_t hour = wc_digits(at + 11, end, 2), minute = wc_digits(at + 14, end, 2), second = wc_digits(at + 17, end, 2);
  static const int before[] = {0, 31, 59, 90, 120, 151, 181, 212, 243, 273, 304, 334, 365};
  bool is_leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
  if (!is_time || year < 1970 || month < 1 || month > 12 || day < 1 || hour < 0 || hour > 23 || minute < 0 || minute > 59 ||
      second < 0 || day > before[month] - before[month - 1] + (month == 2 && is_leap)) {
    return false;
  }
  int64_t years = year - 1;
  int64_t days = years * 365 + years / 4 - years / 100 + years / 400 - 719162 + before[month - 1] + (month > 2 && is_leap) + day - 1;
  int64_t whole = days * 86400 + hour * 3600 + minute * 60 + second;
  double fraction = 0, scale = 1;
  at += 19;
  if (at + 1 < end && wc_is_one_of(*at, ".,") && wc_digits(at + 1, end, 1) >= 0) {
    for (at++; at < end && *at >= '0' && *at <= '9'; at++) fraction = fraction * 10 + (*at - '0'), scale *= 10;
  }
  if (at < end && wc_is_one_of(*at, "+-")) {
    const char *minutes = at + 3 < end && at[3] == ':' ? at + 4 : at + 3;
    int64_t zone_hours = wc_digits(at + 1, end, 2), zone_minutes = wc_digits(minutes, end, 2);
    int64_t ahead = zone_hours * 3600 + zone_minutes * 60;
    if (zone_hours >= 0 && zone_minutes >= 0) whole -= *at == '-' ? -ahead : ahead;
  }
  *seconds = whole + fraction / scale;
  return true;
}

// The first date with a time in a line, in seconds since 1970; one without a zone is taken to be UTC.
static inline bool wc_time_of(wc_text line, double *seconds) {
  const char *end = line.at + line.bytes;
  for (const char *at = line.at; at < end; at++) {
    bool is_first = *at >= '0' && *at <= '9' && (at == line.at || at[-1] < '0' || at[-1] > '9');
    if (is_first && wc_time_at(at, end, seconds)) return true;
  }
  return false;
}

// The line with the `n` before it and the `n` behind it.
static inline wc_lines wc_around(wc_report report, const wc_line *line, uint32_t n) {
  wc_lines answer = {0};
  uint64_t first = line->number > n ? line->number - n : 1;
  wc_lines_raw(report, line->artifact.at, line->artifact.bytes, first, line->number - first + n + 1, &answer);
  return answer;
}

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
