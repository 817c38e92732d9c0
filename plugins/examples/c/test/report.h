// A report for tests, made of a case's folder: `whycrash plugin case FOLDER` writes what a plugin is told of a case into its
// `evidence.json`; without that file there are the lines of its texts and nothing else. Patterns are POSIX extended
// ones here. Nothing is bounded or checked: whether citations hold, and what a run costs, `whycrash plugin test` says.
#ifndef REPORT_H
#define REPORT_H

#include <dirent.h>
#include <regex.h>
#include <stdio.h>
#include <string.h>

enum { WC_TEXTS = 256 };
static struct { char *name; wc_text text; } wc_texts_of_case[WC_TEXTS];
static int wc_text_count, wc_checks, wc_failures;
static const char *wc_told;

// Notes whether something is as it should be.
static void wc_check(bool is_so, const char *what) {
  wc_checks++;
  if (!is_so) wc_failures++;
  printf("%s %d - %s\n", is_so ? "ok" : "not ok", wc_checks, what);
}

// The exit status of the tests.
static int wc_failed(void) {
  printf("1..%d\n", wc_checks);
  return wc_failures > 0;
}

static bool wc_is(wc_text one, wc_text other) {
  return one.bytes == other.bytes && memcmp(one.at, other.at, one.bytes) == 0;
}

static wc_text wc_file(const char *folder, const char *name) {
  char path[4096];
  snprintf(path, sizeof path, "%s/%s", folder, name);
  FILE *file = fopen(path, "rb");
  if (!file) return (wc_text){0};
  fseek(file, 0, SEEK_END);
  long bytes = ftell(file);
  rewind(file);
  char *text = wc_take(bytes < 0 ? 0 : bytes);
  size_t read = fread(text, 1, bytes < 0 ? 0 : bytes, file);
  text[read] = 0;
  fclose(file);
  return (wc_text){text, read};
}

static bool wc_was_left(const char *name) {
  return name[0] != '.' && strcmp(name, "case.toml") && strcmp(name, "evidence.json") && strcmp(name, "expected.json") &&
         strcmp(name, "history.json");
}

static wc_text wc_of(const char *text) { return (wc_text){text, strlen(text)}; }

static const char WC_MARKS[] = "bfnrt";

static const char *wc_blank(const char *json) { return json + strspn(json, " \t\r\n"); }

// Behind a JSON value.
static const char *wc_behind(const char *json) {
  json = wc_blank(json);
  if (*json == '"') {
    for (json++; *json && *json != '"'; json++) {
      if (*json == '\\' && json[1]) json++;
    }
    return *json ? json + 1 : json;
  }
  if (*json != '{' && *json != '[') return json + strcspn(json, ",]} \t\r\n");
  for (json = wc_blank(json + 1); *json && *json != '}' && *json != ']';) {
    json = wc_blank(wc_behind(json));
    if (*json == ':' || *json == ',') json = wc_blank(json + 1);
  }
  return *json ? json + 1 : json;
}

// The member of an object, or the element of a list, of this name.
static const char *wc_member(const char *json, wc_text name) {
  json = wc_blank(json);
  bool is_list = *json == '[';
  if (*json != '{' && !is_list) return 0;
  long wanted = is_list ? strtol(name.at, 0, 10) : 0;
  json = wc_blank(json + 1);
  while (*json && *json != '}' && *json != ']') {
    const char *key = json + 1;
    if (!is_list) json = wc_blank(wc_behind(json));
    if (!is_list && *json == ':') json = wc_blank(json + 1);
    bool is_it = is_list ? wanted-- == 0 : strncmp(key, name.at, name.bytes) == 0 && key[name.bytes] == '"';
    if (is_it) return json;
    json = wc_blank(wc_behind(json));
    if (*json == ',') json = wc_blank(json + 1);
  }
  return 0;
}

// The first entry of a list or member of an object; none of an empty one.
static const char *wc_first(const char *json) {
  json = wc_blank(json + 1);
  return *json == ']' || *json == '}' ? 0 : json;
}

// The entry behind this one.
static const char *wc_next(const char *json) {
  json = wc_blank(wc_behind(json));
  return *json == ',' ? wc_blank(json + 1) : 0;
}

static char *wc_utf8(char *to, unsigned code) {
  if (code < 0x80) *to++ = code;
  else if (code < 0x800) *to++ = 0xc0 | code >> 6;
  else if (code < 0x10000) *to++ = 0xe0 | code >> 12;
  else *to++ = 0xf0 | code >> 18, *to++ = 0x80 | (code >> 12 & 0x3f);
  if (code >= 0x800) *to++ = 0x80 | (code >> 6 & 0x3f);
  if (code >= 0x80) *to++ = 0x80 | (code & 0x3f);
  return to;
}

// The text that a JSON string stands for.
static wc_text wc_string(const char *json) {
  char *text = wc_take(wc_behind(json) - json), *to = text;
  for (json++; *json && *json != '"'; json++) {
    const char *mark = *json == '\\' ? strchr(WC_MARKS, json[1]) : 0;
    unsigned code = 0;
    if (*json != '\\') *to++ = *json;
    else if (json[1] == 'u' && sscanf(json + 2, "%4x", &code) == 1) {
      unsigned low = 0;
      if (code >> 10 == 0x36 && sscanf(json + 6, "\\u%4x", &low) == 1) {
        code = 0x10000 + ((code & 0x3ff) << 10) + (low & 0x3ff);
        json += 6;
      }
      to = wc_utf8(to, code);
      json += 5;
    } else {
      *to++ = mark && *mark ? "\b\f\n\r\t"[mark - WC_MARKS] : json[1];
      json++;
    }
  }
  *to = 0;
  return (wc_text){text, to - text};
}

static void wc_add_text(const char *name, wc_text text) {
  if (!text.at || wc_text_count == WC_TEXTS) return;
  wc_texts_of_case[wc_text_count].name = strdup(name);
  wc_texts_of_case[wc_text_count++].text = text;
}

// The lines of an artifact as one text.
static wc_text wc_joined(const char *lines) {
  char *text = wc_take(wc_behind(lines) - lines), *to = text;
  for (const char *line = wc_first(lines); line; line = wc_next(line)) {
    wc_text plain = wc_string(line);
    memcpy(to, plain.at, plain.bytes);
    to += plain.bytes;
    *to++ = '\n';
  }
  *to = 0;
  return (wc_text){text, to - text};
}

// The report of a case.
static wc_report wc_report_of(const char *folder) {
  wc_text_count = 0;
  wc_told = wc_file(folder, "evidence.json").at;
  const char *artifacts = wc_told ? wc_member(wc_told, WC_TEXT("artifacts")) : 0;
  for (const char *one = artifacts ? wc_first(artifacts) : 0; one; one = wc_next(one)) {
    const char *lines = wc_member(one, WC_TEXT("lines"));
    if (lines) wc_add_text(wc_string(wc_member(one, WC_TEXT("name"))).at, wc_joined(lines));
  }
  if (artifacts) return 0;
  struct dirent **files;
  int count = scandir(folder, &files, 0, alphasort);
  for (int i = 0; i < count; i++) {
    if (wc_was_left(files[i]->d_name)) wc_add_text(files[i]->d_name, wc_file(folder, files[i]->d_name));
  }
  return 0;
}


void wc_drop_report(wc_report report) { (void)report; }

void wc_log_raw(const char *at, size_t bytes) { printf("# %.*s\n", (int)bytes, at); }

void wc_search_raw(wc_report report, int32_t in_one, const char *artifact, size_t artifact_bytes, const char *pattern,
                   size_t pattern_bytes, uint32_t limit, void *answer) {
  struct { uint8_t is_error; wc_lines lines; } *found = answer;
  char *terminated = wc_take(pattern_bytes);
  memcpy(terminated, pattern, pattern_bytes);
  terminated[pattern_bytes] = 0;
  regex_t compiled;
  found->is_error = regcomp(&compiled, terminated, REG_EXTENDED | REG_NOSUB) != 0;
  if (found->is_error) return;
  found->lines.at = (wc_line *)wc_take(limit * sizeof(wc_line));
  for (int i = 0; i < wc_text_count; i++) {
    if (in_one && !wc_is(wc_of(wc_texts_of_case[i].name), (wc_text){artifact, artifact_bytes})) continue;
    wc_text text = wc_texts_of_case[i].text;
    uint64_t number = 1;
    for (const char *line = text.at, *end = text.at + text.bytes; line < end && found->lines.count < limit; number++) {
      const char *behind = memchr(line, '\n', end - line);
      wc_text one = wc_join((wc_text){line, (behind ? behind : end) - line}, (wc_text){"", 1});
      one.bytes--;
      if (regexec(&compiled, one.at, 0, 0, 0) == 0) {
        found->lines.at[found->lines.count++] = (wc_line){wc_of(wc_texts_of_case[i].name), number, one};
      }
      line = behind ? behind + 1 : end;
    }
  }
  regfree(&compiled);
}

void wc_lines_raw(wc_report report, const char *artifact, size_t artifact_bytes, uint64_t first, uint32_t count,
                  void *answer) {
  wc_lines *found = answer;
  *found = (wc_lines){(wc_line *)wc_take(count * sizeof(wc_line)), 0};
  for (int i = 0; i < wc_text_count; i++) {
    if (!wc_is(wc_of(wc_texts_of_case[i].name), (wc_text){artifact, artifact_bytes})) continue;
    wc_text text = wc_texts_of_case[i].text;
    uint64_t number = 1;
    for (const char *line = text.at, *end = text.at + text.bytes; line < end && found->count < count; number++) {
      const char *behind = memchr(line, '\n', end - line);
      wc_text one = {line, (behind ? behind : end) - line};
      if (number >= first) found->at[found->count++] = (wc_line){wc_of(wc_texts_of_case[i].name), number, one};
      line = behind ? behind + 1 : end;
    }
  }
}

// What stands at a dotted path into the evidence, as JSON.
static const char *wc_find(const char *path, size_t bytes) {
  bool is_of_others = bytes > 8 && memcmp(path, "history.", 8) == 0;
  const char *at = wc_told && !is_of_others ? wc_member(wc_told, WC_TEXT("evidence")) : wc_told;
  for (size_t start = 0, end; at && start <= bytes; start = end + 1) {
    for (end = start; end < bytes && path[end] != '.';) end++;
    at = wc_member(at, (wc_text){path + start, end - start});
  }
  return at;
}

void wc_fact_raw(wc_report report, const char *path, size_t path_bytes, void *answer) {
  wc_optional_text *fact = answer;
  const char *at = wc_find(path, path_bytes);
  *fact = (wc_optional_text){0};
  if (at && strncmp(at, "null", 4)) *fact = (wc_optional_text){true, {at, wc_behind(at) - at}};
}

void wc_software_raw(wc_report report, int32_t is_named, const char *name, size_t name_bytes, void *answer) {
  static wc_software told[256];
  wc_softwares *found = answer;
  *found = (wc_softwares){told, 0};
  const char *all = wc_told ? wc_member(wc_told, WC_TEXT("software")) : 0;
  for (const char *one = all ? wc_first(all) : 0; one && found->count < 256; one = wc_next(one)) {
    wc_software software = {
        wc_string(wc_member(one, WC_TEXT("name"))),
        wc_string(wc_member(one, WC_TEXT("version"))),
        wc_string(wc_member(one, WC_TEXT("fact"))),
    };
    if (!is_named || wc_is(software.name, (wc_text){name, name_bytes})) told[found->count++] = software;
  }
}

#endif
