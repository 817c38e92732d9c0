//! Numbers over the steps of a training, in each form that they come in.

use std::fmt::Write as _;

use whycrash_evidence::model::{Divergence, EndSign, EventPayload, Place, Series};
use whycrash_evidence::readers::{Lines, Reading};
use whycrash_evidence::{ArtifactKind, Limits, read};

use crate::event_files::{Record, events_file, header, scalar, tensor, wandb_file};
use crate::support::artifact;

fn read_as(name: &str, bytes: &[u8]) -> Reading {
    let (artifact, _keep) = artifact(name, bytes);
    read(&artifact, &Limits::default())
}

fn series<'r>(reading: &'r Reading, name: &str) -> &'r Series {
    let found = reading.evidence.series.iter().find(|series| series.name == name);
    found.unwrap_or_else(|| panic!("no {name} in {:#?}", reading.evidence.series))
}

fn divergences(reading: &Reading) -> Vec<(&Divergence, &Place, &str)> {
    let events = reading
        .evidence
        .timeline
        .iter()
        .filter_map(|event| match &event.payload {
            EventPayload::Divergence(divergence) => Some((divergence, event.at.as_ref()?, event.text.as_str())),
            _ => None,
        });
    events.collect()
}

/// A hundred rows, the loss of which is nan from step 700 on.
fn lightning() -> String {
    let mut table = "epoch,step,train_loss,val_loss\n".to_owned();
    for row in 0..100 {
        let loss = if row < 70 {
            (2.0 / f64::from(row + 1)).to_string()
        } else {
            "nan".to_owned()
        };
        writeln!(table, "{},{},{loss},", row / 10, row * 10).unwrap();
    }
    table + "9,990,,0.5\n"
}

#[test]
fn a_table_of_a_trainer_is_series_and_a_loss_that_was_lost_an_event() {
    let reading = read_as("metrics.csv", lightning().as_bytes());
    assert_eq!(reading.kind, Some(ArtifactKind::Metrics));
    let names: Vec<_> = reading
        .evidence
        .series
        .iter()
        .map(|series| series.name.as_str())
        .collect();
    assert_eq!(names, ["train_loss", "val_loss"]);
    let loss = series(&reading, "train_loss");
    assert_eq!((loss.count, loss.first_step, loss.last_step), (100, Some(0), Some(990)));
    assert_eq!(
        (loss.first, loss.max, loss.last),
        (Some(2.0), Some(2.0), Some(2.0 / 70.0))
    );
    let lost = loss.non_finite.as_ref().expect("nan");
    assert_eq!(
        (lost.value.as_str(), lost.step, lost.count, lost.to_the_end),
        ("nan", Some(700), 30, 30)
    );
    let [(divergence, at, text)] = divergences(&reading)[..] else {
        panic!("{:#?}", reading.evidence.timeline)
    };
    let expected = Divergence {
        quantity: "loss".to_owned(),
        value: "nan".to_owned(),
        step: Some(700),
        rows: Some(30),
    };
    assert_eq!(
        (divergence, at, text),
        (&expected, &Place::Line([72, 72]), "7,700,nan,")
    );
    assert!(reading.evidence.timeline[0].primary);
}

#[test]
fn lines_of_json_are_rows_whatever_way_a_number_that_is_none_is_written() {
    for nan in ["NaN", "\"NaN\"", "\"nan\""] {
        let mut text = String::new();
        for step in 0..20 {
            let loss = if step < 15 { "0.5".to_owned() } else { nan.to_owned() };
            writeln!(
                text,
                "{{\"_step\": {step}, \"_timestamp\": 1795955380.5, \"loss\": {loss}, \"opt\": {{\"lr\": 0.001}}}}"
            )
            .unwrap();
        }
        let reading = read_as("wandb-history.jsonl", text.as_bytes());
        assert_eq!(reading.kind, Some(ArtifactKind::Metrics), "{nan}");
        let names: Vec<_> = reading
            .evidence
            .series
            .iter()
            .map(|series| series.name.as_str())
            .collect();
        assert_eq!(names, ["loss", "opt.lr"], "{nan}");
        let [(divergence, at, _)] = divergences(&reading)[..] else {
            panic!("{nan}: {:#?}", reading.evidence.timeline)
        };
        assert_eq!((divergence.step, at), (Some(15), &Place::Line([16, 16])), "{nan}");
    }
}

#[test]
fn the_state_of_a_trainer_has_its_rows_in_a_list() {
    let state = "{\n  \"epoch\": 1.0,\n  \"global_step\": 20,\n  \"log_history\": [\n    {\n      \"epoch\": 0.5,\n      \"loss\": 2.5,\n      \"step\": 10\n    },\n    {\n      \"epoch\": 1.0,\n      \"loss\": NaN,\n      \"step\": 20\n    }\n  ]\n}\n";
    let reading = read_as("trainer_state.json", state.as_bytes());
    let [(divergence, at, text)] = divergences(&reading)[..] else {
        panic!("{:#?}", reading.evidence)
    };
    assert_eq!(
        (divergence.step, at, text),
        (Some(20), &Place::Line([12, 12]), "\"loss\": NaN,")
    );
}

#[test]
fn a_summary_of_a_run_is_one_row() {
    let reading = read_as(
        "wandb-summary.json",
        b"{\"_wandb\":{\"runtime\":3},\"_runtime\":3.1,\"_step\":19,\"loss\":0.25,\"_timestamp\":1795955380.8}",
    );
    assert_eq!(reading.kind, Some(ArtifactKind::Metrics));
    assert_eq!(series(&reading, "loss").last, Some(0.25));
    assert!(reading.evidence.timeline.is_empty());
}

/// A column of these values under this name, after a step.
fn column(name: &str, values: &[&str]) -> String {
    let rows = values.iter().enumerate();
    rows.fold(format!("step,{name},lr\n"), |text, (step, value)| {
        format!("{text}{step},{value},0.1\n")
    })
}

#[test]
fn a_value_that_is_no_number_is_an_event_only_where_it_was_lost_for_good() {
    for (name, values, expected) in [
        ("loss", &["1", "2", "nan"][..], Some(("loss", "nan", 2))),
        ("loss", &["1", "inf", "nan", "nan"], Some(("loss", "inf", 1))),
        ("train/grad_norm", &["1", "2", "inf"], Some(("gradient", "inf", 2))),
        ("val_ppl", &["9", "nan"], Some(("perplexity", "nan", 1))),
        ("loss", &["nan", "nan", "nan"], Some(("loss", "nan", 0))),
        // One that recovers, as where a gradient scaler looks for its scale.
        ("grad_norm", &["inf", "inf", "1.5", "1.2"], None),
        ("loss", &["1", "nan", "2"], None),
        // Nothing was measured.
        ("val_loss", &["nan", "nan"], None),
        ("val_loss", &["", "", ""], None),
        // What is no value of the training.
        ("best_loss", &["1", "inf", "inf"], None),
        ("loss_scale", &["1", "inf", "inf"], None),
        ("glossary", &["1", "2", "3"], None),
        ("accuracy", &["1", "nan", "nan"], None),
    ] {
        let reading = read_as("metrics.csv", column(name, values).as_bytes());
        assert_eq!(reading.kind, Some(ArtifactKind::Metrics), "{name} {values:?}");
        let told: Vec<_> = divergences(&reading)
            .iter()
            .map(|(divergence, ..)| (divergence.quantity.clone(), divergence.value.clone(), divergence.step))
            .collect();
        let expected: Vec<_> = expected
            .iter()
            .map(|(quantity, value, step)| ((*quantity).to_owned(), (*value).to_owned(), Some(*step)))
            .collect();
        assert_eq!(told, expected, "{name} {values:?}");
    }
}

#[test]
fn what_grows_to_the_end_says_by_how_much() {
    let table = |value: fn(u32) -> f64| {
        let rows = (0..1000_u32).map(|step| format!("{step},{}\n", value(step)));
        format!("step,gpu_mem_gb\n{}", rows.collect::<String>())
    };
    for (value, growth) in [
        ((|step| 10.0 + f64::from(step) * 0.5) as fn(u32) -> f64, Some(0.5)),
        (|step| 10.0 + f64::from(step % 2), None),
        (|step| if step < 100 { f64::from(step) } else { 100.0 }, None),
        (|step| 50.0 - f64::from(step) * 0.01, None),
    ] {
        let reading = read_as("memory.csv", table(value).as_bytes());
        let found = series(&reading, "gpu_mem_gb");
        assert_eq!(found.growth.map(|growth| (growth * 1e6).round() / 1e6), growth);
        assert!(found.points.len() <= 64, "{}", found.points.len());
    }
}

#[test]
fn each_gpu_of_a_table_has_a_series_of_its_own() {
    let table = "timestamp, index, utilization.gpu [%], memory.used [MiB]\n2026/03/14 08:51:17.123, 0, 35 %, 81559 MiB\n2026/03/14 08:51:17.125, 1, 30 %, 1024 MiB\n2026/03/14 08:51:18.123, 0, 36 %, 81560 MiB\n";
    let reading = read_as("gpu.csv", table.as_bytes());
    assert_eq!(series(&reading, "memory.used [MiB] of 0").last, Some(81560.0));
    assert_eq!(series(&reading, "memory.used [MiB] of 1").count, 1);
}

#[test]
fn rows_among_the_lines_of_a_log_are_series_of_a_log() {
    let text = "{\"step\": 1, \"loss\": 2.0}\n{\"step\": 2, \"loss\": 1.5}\nTraceback (most recent call last):\n  File \"a.py\", line 1, in <module>\n    f()\nKeyError: 'x'\n";
    let padded = "{\"step\": 0, \"loss\": 2.0}\n".repeat(4000) + text;
    let reading = read_as("train.log", padded.as_bytes());
    assert_eq!(reading.kind, Some(ArtifactKind::Log));
    assert_eq!(series(&reading, "loss").count, 4002);
    assert_eq!(reading.evidence.timeline[0].payload.kind(), "python-exception");
}

#[test]
fn other_tables_and_data_stay_what_they_are() {
    for text in [
        "id,title,label\n1,CUDA error: out of memory,3\n2,b,4\n",
        "id,text,label\n1,\"RuntimeError: CUDA error: out of memory, and more\",3\n",
        "x,y,z\n1,2,3\n4,5,6\n",
        "name,loss\nhouse,nan\nbarn,nan\n",
        "{\"text\": \"RuntimeError: CUDA error: an illegal memory access was encountered\", \"label\": 1}\n{\"text\": \"fine\", \"label\": 0}\n",
        "1,2,3\n4,5,6\n",
        "Hello, world\nthis, is\n",
    ] {
        let reading = read_as("data", text.as_bytes());
        assert_eq!(reading.kind, Some(ArtifactKind::Log), "{text}");
        let failures = reading.evidence.timeline.iter().filter(|event| event.primary);
        assert_eq!(
            (failures.count(), reading.evidence.series.len()),
            (0, 0),
            "{text}: {:#?}",
            reading.evidence
        );
    }
}

#[test]
fn scalars_of_event_files_are_series() {
    let records: Vec<Vec<u8>> = (0..50_u64)
        .flat_map(|step| {
            let loss = if step < 40 { 0.5 } else { f32::NAN };
            [scalar("train/loss", step, loss), tensor("lr", step, 0.25)]
        })
        .collect();
    let file = events_file(&records);
    let reading = read_as("events.out.tfevents.1795955379.node", &file);
    assert_eq!(reading.kind, Some(ArtifactKind::Tfevents));
    assert!(reading.problems.is_empty(), "{:#?}", reading.problems);
    assert_eq!(
        (series(&reading, "lr").count, series(&reading, "lr").last),
        (50, Some(0.25))
    );
    let [(divergence, Place::Bytes([start, end]), text)] = divergences(&reading)[..] else {
        panic!("{:#?}", reading.evidence.timeline)
    };
    assert_eq!(
        (divergence.step, divergence.rows, text),
        (Some(40), Some(10), "train/loss = nan at step 40")
    );
    let cited = &file[usize::try_from(*start).unwrap()..usize::try_from(*end).unwrap()];
    assert!(cited.windows(10).any(|window| window == b"train/loss"));
}

#[test]
fn event_files_that_are_damaged_give_what_came_before() {
    let records: Vec<Vec<u8>> = (0..20).map(|step| scalar("loss", step, 1.0)).collect();
    let whole = events_file(&records);
    let mut wrong = whole.clone();
    let middle = whole.len() / 2;
    wrong[middle] ^= 0xff;
    let mut endless = whole.clone();
    endless.extend_from_slice(&header(u64::MAX));
    endless.extend_from_slice(&[7; 64]);
    for (bytes, code) in [
        (&whole[..whole.len() - 3], "unfinished"),
        (&wrong[..], "damaged"),
        (&endless[..], "unfinished"),
        (&[whole.as_slice(), &[7; 64]].concat(), "damaged"),
    ] {
        let reading = read_as("events.out.tfevents.1.a", bytes);
        let codes: Vec<_> = reading.problems.iter().map(|problem| problem.code.as_str()).collect();
        assert_eq!(codes, [code]);
        assert!(series(&reading, "loss").count >= 5);
    }
}

#[test]
fn a_record_of_a_run_has_what_was_printed_and_logged_and_how_it_ended() {
    let mut records = Vec::new();
    for step in 0..20 {
        let loss = if step < 15 { "0.5" } else { "\"NaN\"" };
        records.push(Record::History(vec![
            ("_step", step.to_string()),
            ("loss", loss.to_owned()),
        ]));
        records.push(Record::Output("step "));
        records.push(Record::Output("on\n"));
    }
    records.push(Record::Output(
        "Traceback (most recent call last):\n  File \"a.py\", line 1, in <module>\n    f()\nRuntimeError: boom\n",
    ));
    records.push(Record::Exit(1));
    let file = wandb_file(&records);
    let (artifact, _keep) = artifact("run-abc.wandb", &file);
    let limits = Limits::default();
    let reading = read(&artifact, &limits);
    assert_eq!(
        (reading.kind, &reading.problems[..]),
        (Some(ArtifactKind::WandbRun), &[][..])
    );
    assert_eq!(series(&reading, "loss").count, 20);
    let lines = Lines::open(&artifact, &limits).expect("lines");
    let lines = lines.range(1, lines.count()).expect("lines");
    let [(divergence, Place::Line([line, _]), text)] = divergences(&reading)[..] else {
        panic!("{:#?}", reading.evidence.timeline)
    };
    assert_eq!((divergence.step, text), (Some(15), "_step=15 loss=NaN"));
    assert_eq!(lines[usize::try_from(*line).unwrap() - 1], text);
    let kinds: Vec<_> = reading
        .evidence
        .timeline
        .iter()
        .map(|event| event.payload.kind())
        .collect();
    assert_eq!(kinds, ["python-exception", "divergence", "process-exit"]);
    assert_eq!(lines.last().map(String::as_str), Some("the run ended with exit code 1"));
}

#[test]
fn a_run_that_ended_well_says_so() {
    let file = wandb_file(&[Record::Output("step 1\n"), Record::Exit(0)]);
    let reading = read_as("run-abc.wandb", &file);
    let signs: Vec<_> = reading.evidence.text_ends.iter().map(|end| end.sign).collect();
    assert_eq!((signs, reading.evidence.timeline.len()), (vec![EndSign::ExitZero], 0));
}

#[test]
fn a_record_of_a_run_may_be_cut_or_damaged_anywhere() {
    let long = format!("{}\n", "x".repeat(8_000)).repeat(9);
    let mut records: Vec<Record> = (0..400)
        .map(|step| Record::History(vec![("_step", step.to_string()), ("loss", "0.5".to_owned())]))
        .collect();
    records.push(Record::Output(&long));
    let whole = wandb_file(&records);
    assert!(whole.len() > 64 << 10, "several blocks");
    let reading = read_as("run-abc.wandb", &whole);
    assert_eq!((reading.problems.len(), series(&reading, "loss").count), (0, 400));
    for cut in (7..whole.len()).step_by(997) {
        let reading = read_as("run-abc.wandb", &whole[..cut]);
        assert!(reading.problems.len() <= 1, "{cut}: {:#?}", reading.problems);
        let mut wrong = whole.clone();
        wrong[cut] ^= 0x55;
        let reading = read_as("run-abc.wandb", &wrong);
        let codes: Vec<_> = reading.problems.iter().map(|problem| problem.code.as_str()).collect();
        assert_eq!(codes, ["damaged"], "{cut}");
    }
}

#[test]
fn more_series_than_are_kept_are_named() {
    let names: String = (0..400).map(|number| format!(",m{number}")).collect();
    let row = |step: u32| format!("{step}{}\n", ",1".repeat(400));
    let reading = read_as("metrics.csv", format!("step{names}\n{}{}", row(1), row(2)).as_bytes());
    assert_eq!(reading.evidence.series.len(), 256);
    assert_eq!(reading.problems[0].code, "limit-series");
}
