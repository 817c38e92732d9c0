// Prints what a report for tests in C answers to the calls that whycrash.h has: `calls CASE…`.
#include "whycrash.h"
#include "test/report.h"

static void wc_json(wc_text text) {
  putchar('"');
  for (size_t i = 0; i < text.bytes; i++) {
    unsigned char c = text.at[i];
    if (c == '"' || c == '\\') printf("\\%c", c);
    else if (c < ' ') printf("\\u%04x", c);
    else putchar(c);
  }
  putchar('"');
}

static void wc_ask_fact(wc_report report, const char *path) {
  wc_optional_text fact = wc_fact(report, wc_of(path));
  printf(",[\"fact %s\",", path);
  if (!fact.is_some) printf("null");
  else if (wc_is(fact.text, WC_TEXT("null"))) printf("\"a null\"");
  else printf("%.*s", (int)fact.text.bytes, fact.text.at);
  printf("]");
}

static void wc_ask_software(wc_report report, const char *name) {
  wc_softwares found = wc_software_called(report, wc_of(name));
  printf(",[\"software %s\",[", name);
  for (size_t i = 0; i < found.count; i++) {
    printf(i ? ",[" : "[");
    wc_json(found.at[i].name);
    printf(",");
    wc_json(found.at[i].version);
    printf(",");
    wc_json(found.at[i].fact);
    printf("]");
  }
  printf("]]");
}

static void wc_ask_search(wc_report report, const char *pattern) {
  wc_lines found = wc_search(report, wc_of(pattern), 5);
  printf("[\"search %s\",[", pattern);
  for (size_t i = 0; i < found.count; i++) {
    printf(i ? ",[" : "[");
    wc_json(found.at[i].artifact);
    printf(",\"%llu\",", (unsigned long long)found.at[i].number);
    wc_json(found.at[i].text);
    printf("]");
  }
  printf("]]");
}

int main(int count, char **folders) {
  static const char *const FACTS[] = {
      "nothing", "crash.signal", "threads.0", "timeline.0", "modules.0", "memory_snapshots.0",
      "memory_details.0.blocks.1.address", "collectives", "context.host", "history.earlier.0.title",
  };
  for (int i = 1; i < count; i++) {
    wc_report report = wc_report_of(folders[i]);
    printf("[");
    wc_ask_search(report, "rror");
    for (size_t fact = 0; fact < sizeof FACTS / sizeof *FACTS; fact++) wc_ask_fact(report, FACTS[fact]);
    wc_ask_software(report, "torch");
    puts("]");
  }
  return 0;
}
