// Prints what the readers of lines in C say of each line of a file: `lines FILE`.
#include "whycrash.h"
#include "test/report.h"

static void wc_print_text(wc_optional_text text) {
  if (text.is_some) printf("\"%.*s\",", (int)text.text.bytes, text.text.at);
  else printf("null,");
}

static void wc_print(bool is_some, double value, const char *behind) {
  if (!is_some) printf("null%s", behind);
  else if (value - value == 0) printf("%.17g%s", value, behind);
  else printf("\"%s\"%s", value != value ? "nan" : value < 0 ? "-inf" : "inf", behind);
}

int main(int count, char **arguments) {
  wc_text file = wc_file(".", arguments[count - 1]);
  const char *end = file.at + file.bytes;
  for (const char *at = file.at, *behind; at < end; at = behind + 1) {
    behind = memchr(at, '\n', end - at);
    wc_line line = {WC_TEXT("x"), 1, {at, behind - at}};
    wc_points points = wc_series((wc_lines){&line, 1}, WC_TEXT("loss"));
    double time = 0, number = 0;
    bool has_time = wc_time_of(line.text, &time), is_number = wc_number(line.text, &number);
    printf("[");
    wc_print_text(wc_key_value(line.text, WC_TEXT("loss")));
    wc_print_text(wc_key_value(line.text, WC_TEXT("name")));
    wc_print(points.count, points.count ? points.at[0].value : 0, ",");
    wc_print(has_time, time, ",");
    wc_print(is_number, number, "]\n");
  }
  return 0;
}
