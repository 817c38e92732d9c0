// Says when a job ended because it got no licence.

#include "whycrash.h"

WC_EXPORT("about") wc_info *about(void) {
  static wc_text causes[] = {{"example-plugin-licence", sizeof("example-plugin-licence") - 1}};
  static wc_text needs[] = {{"text", sizeof("text") - 1}};
  static wc_info info;
  info = (wc_info){
      .name = WC_TEXT("example-plugin"),
      .version = WC_TEXT("0.1.0"),
      .causes = {causes, 1},
      .needs_any_of = {needs, 1},
  };
  return &info;
}

WC_EXPORT("diagnose") wc_result *diagnose(wc_report report) {
  static wc_result result;
  static wc_citation citation;
  static wc_finding finding;
  result = (wc_result){0};
  wc_lines lines = wc_search(report, WC_TEXT("ERROR licence checkout failed: "), 1);
  if (lines.count > 0) {
    wc_line *line = &lines.at[0];
    wc_text reason = wc_after(line->text, WC_TEXT("failed: "));
    citation = wc_cite(line);
    finding = (wc_finding){
        .cause = WC_TEXT("example-plugin-licence"),
        .confidence = 0.95,
        .explanation = wc_join(wc_join(WC_TEXT("The program got no licence: "), reason), WC_TEXT(".")),
        .citations = {&citation, 1},
    };
    result.value.diagnosis.findings.at = &finding;
    result.value.diagnosis.findings.count = 1;
  }
  wc_drop_report(report);
  return &result;
}
