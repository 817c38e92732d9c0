// The plugin's tests: `make test`.

#include "../app.c"
#include "report.h"

int main(void) {
  wc_result *found = diagnose(wc_report_of("cases/licence-server-down"));
  wc_check(!found->is_error && found->value.diagnosis.findings.count == 1, "a checkout that failed is found");
  wc_finding *finding = found->value.diagnosis.findings.at;
  wc_check(wc_is(finding->cause, about()->causes.at[0]), "it is the cause that the plugin says it can name");
  wc_text why = WC_TEXT("The program got no licence: server lic01.example.com:27000 does not answer.");
  wc_check(wc_is(finding->explanation, why), "it says why");
  wc_check(finding->citations.at[0].at.lines.first == 2, "the line that says so is cited");

  found = diagnose(wc_report_of("cases/healthy-log"));
  wc_check(found->value.diagnosis.findings.count == 0, "a healthy log is not");
  return wc_failed();
}
