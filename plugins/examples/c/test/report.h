// A report for tests, made of a case's folder: files of text are its lines, and `evidence.json`, where there is one,
// the evidence (`whycrash inspect --format json FOLDER > FOLDER/evidence.json` writes it). Patterns are POSIX
// extended ones here. Nothing is bounded or checked: whether citations hold, and what a run costs, `whycrash plugin
// test` says.
#ifndef REPORT_H
#define REPORT_H

#include <dirent.h>
#include <regex.h>
#include <stdio.h>
#include <string.h>

static struct { char *name, *text; } wc_texts_of_case[64];
static int wc_text_count, wc_checks, wc_failures;
static char *wc_evidence;

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

static char *wc_file(const char *folder, const char *name) {
  char path[4096];
  snprintf(path, sizeof path, "%s/%s", folder, name);
  FILE *file = fopen(path, "rb");
  if (!file) return 0;
  fseek(file, 0, SEEK_END);
  long bytes = ftell(file);
  rewind(file);
  char *text = bytes < 0 ? 0 : wc_take(bytes);
  if (text) text[fread(text, 1, bytes, file)] = 0;
  fclose(file);
  return text;
}

static bool wc_was_left(const char *name) {
  return name[0] != '.' && strcmp(name, "case.toml") && strcmp(name, "evidence.json") && strcmp(name, "expected.json");
}

// The report of a case.
static wc_report wc_report_of(const char *folder) {
  struct dirent **files;
  int count = scandir(folder, &files, 0, alphasort);
  wc_text_count = 0;
  for (int i = 0; i < count; i++) {
    char *text = wc_was_left(files[i]->d_name) ? wc_file(folder, files[i]->d_name) : 0;
    if (!text || wc_text_count == 64) continue;
    wc_texts_of_case[wc_text_count].name = strdup(files[i]->d_name);
    wc_texts_of_case[wc_text_count++].text = text;
  }
  wc_evidence = wc_file(folder, "evidence.json");
  return 0;
}

static wc_text wc_of(const char *text) { return (wc_text){text, strlen(text)}; }

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
    uint64_t number = 1;
    for (char *line = strdup(wc_texts_of_case[i].text); line && *line && found->lines.count < limit; number++) {
      char *rest = strchr(line, '\n');
      if (rest) *rest++ = 0;
      if (regexec(&compiled, line, 0, 0, 0) == 0) {
        found->lines.at[found->lines.count++] = (wc_line){wc_of(wc_texts_of_case[i].name), number, wc_of(line)};
      }
      line = rest;
    }
  }
  regfree(&compiled);
}

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

// What stands at a dotted path into the evidence, as JSON.
static const char *wc_find(const char *path, size_t bytes) {
  const char *at = wc_evidence ? wc_member(wc_evidence, WC_TEXT("evidence")) : 0;
  if (!at) at = wc_evidence;
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

// Of the context's packages alone; a plugin is also told what binaries, drivers and libraries say.
void wc_software_raw(wc_report report, int32_t is_named, const char *name, size_t name_bytes, void *answer) {
  static wc_software one;
  wc_softwares *found = answer;
  *found = (wc_softwares){0};
  wc_text path = wc_join(WC_TEXT("context.packages."), (wc_text){name, name_bytes});
  const char *version = is_named ? wc_find(path.at, path.bytes) : 0;
  if (!version || *version != '"') return;
  one = (wc_software){{name, name_bytes}, {version + 1, wc_behind(version) - version - 2}, path};
  *found = (wc_softwares){&one, 1};
}

#endif
