//! A plugin that does every wrong thing there is, one at a time: the report's context says which.

use whycrash_plugin::bindings::whycrash::plugin::types::{FramePlace, LineRange};
use whycrash_plugin::{Citation, Diagnosis, Finding, Info, Place, Plugin, Report};

struct Misbehaving;

/// A cause that is documented, so that only what is said about it is wrong.
const CAUSE: &str = "abrt-assert";

impl Plugin for Misbehaving {
    fn about() -> Info {
        Info::new("misbehaving", env!("CARGO_PKG_VERSION")).names([CAUSE])
    }

    fn diagnose(report: &Report) -> Result<Diagnosis, String> {
        let how = report.context_text("misbehave").ok_or("nothing to do")?;
        whycrash_plugin::log!("about to {how}");
        let first_line = lines("train.log", 1, 1, "step 1");
        let honest = || {
            Finding::new(CAUSE, 0.5)
                .because("An honest finding.")
                .cite(first_line.clone())
        };
        let finding = match how.as_str() {
            "behave" => honest(),
            "loop" => endless_loop(),
            "allocate" => allocate_without_end(),
            "panic" => panic!("as asked"),
            "recurse" => return Err(format!("{}", recurse(1))),
            "report-an-error" => return Err("could not make sense of it".to_owned()),
            "flood-the-log" => loop {
                whycrash_plugin::log!("spam");
            },
            "search-without-end" => loop {
                let _ = report.find("x*y*z*");
            },
            "read-without-end" => loop {
                let _ = report.lines("train.log", 1, u32::MAX);
            },
            "use-a-huge-pattern" => return Err(report.find(r"(\w{1000}){1000}").expect_err("it is too big")),
            "return-a-huge-text" => honest().because("x".repeat(1 << 20)),
            "return-a-huge-answer" => honest().because("x".repeat(8 << 20)),
            "return-many-findings" => {
                return Ok((0..1000).fold(Diagnosis::nothing(), |diagnosis, _| diagnosis.with(honest())));
            }
            "cite-many-places" => honest().cite_all((1..100).map(|n| lines("train.log", 1, n, "step"))),
            "be-surer-than-sure" => Finding::new(CAUSE, 1.5).cite(first_line),
            "be-sure-of-nothing" => Finding::new(CAUSE, f64::NAN).cite(first_line),
            "name-an-undocumented-cause" => Finding::new("never-heard-of", 0.9).cite(first_line),
            "name-an-undeclared-cause" => Finding::new("oom-exhaustion", 0.9).cite(first_line),
            "cite-nothing" => Finding::new(CAUSE, 0.9).because("Trust me."),
            "misquote-a-line" => Finding::new(CAUSE, 0.9).cite(lines("train.log", 1, 1, "CUDA out of memory")),
            "cite-a-line-past-the-end" => Finding::new(CAUSE, 0.9).cite(lines("train.log", 999, 999, "step")),
            "cite-line-zero" => Finding::new(CAUSE, 0.9).cite(lines("train.log", 0, 1, "step")),
            "cite-lines-backwards" => Finding::new(CAUSE, 0.9).cite(lines("train.log", 2, 1, "step")),
            "cite-an-absent-artifact" => Finding::new(CAUSE, 0.9).cite(lines("other.log", 1, 1, "step")),
            "cite-an-absent-frame" => Finding::new(CAUSE, 0.9).cite(Citation {
                artifact: "train.log".to_owned(),
                at: Place::Frame(FramePlace {
                    thread: "4711".to_owned(),
                    index: 0,
                }),
                quote: "step".to_owned(),
            }),
            "cite-an-absent-event" => Finding::new(CAUSE, 0.9).cite(Citation {
                artifact: String::new(),
                at: Place::Event(4711),
                quote: "step".to_owned(),
            }),
            "misstate-a-fact" => {
                Finding::new(CAUSE, 0.9).cite(whycrash_plugin::cite::fact("context.misbehave", "behave"))
            }
            "contradict-falsely" => honest().against(lines("train.log", 1, 1, "all is well")),
            _ => return Ok(Diagnosis::nothing()),
        };
        Ok(finding.into())
    }
}

fn lines(artifact: &str, first: u64, last: u64, quote: &str) -> Citation {
    Citation {
        artifact: artifact.to_owned(),
        at: Place::Line(LineRange { first, last }),
        quote: quote.to_owned(),
    }
}

fn endless_loop() -> Finding {
    let mut n = 0_u64;
    loop {
        n = std::hint::black_box(n.wrapping_add(1));
    }
}

fn allocate_without_end() -> Finding {
    let mut kept = Vec::new();
    loop {
        // Not written to: how much fuel that takes depends on the compiler.
        kept.push(std::hint::black_box(Vec::<u8>::with_capacity(1 << 20)));
    }
}

#[expect(unconditional_recursion, reason = "its purpose")]
fn recurse(depth: u64) -> u64 {
    let frame = std::hint::black_box([depth; 64]);
    recurse(depth + 1) + frame[usize::from(depth.to_le_bytes()[0] % 64)]
}

whycrash_plugin::export!(Misbehaving);
