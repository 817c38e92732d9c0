//! Prints what a report for tests answers to every call, one line of JSON for each case; behind `--lines`, what the readers of
//! log lines say of each line of a file.

use std::{env, fs, io};

use serde_json::{Value, json};
use whycrash_plugin::{Line, Report, key_values, number, series, time_of};

// Not as a library: with one among the components, what all of them depend on is compiled in another way (build.sh).
#[path = "../src/lib.rs"]
mod every_call;

fn main() -> io::Result<()> {
    let arguments: Vec<String> = env::args().skip(1).collect();
    if let [flag, file] = &arguments[..]
        && flag == "--lines"
    {
        fs::read_to_string(file)?
            .lines()
            .for_each(|text| println!("{}", lines(text)));
        return Ok(());
    }
    for folder in arguments {
        println!("{}", every_call::calls(&Report::of_case(folder)?));
    }
    Ok(())
}

fn lines(text: &str) -> Value {
    let pairs = key_values(text);
    let line = Line {
        artifact: "x".to_owned(),
        number: 1,
        text: text.to_owned(),
    };
    let lines = [line];
    let loss = series(&lines, "loss").first().map(|point| point.value);
    json!([
        pairs.get("loss"),
        pairs.get("name"),
        plain(loss),
        time_of(text),
        plain(number(text))
    ])
}

/// A number as JSON can hold it.
fn plain(number: Option<f64>) -> Value {
    let word = number.filter(|number| !number.is_finite());
    word.map_or_else(|| json!(number), |number| json!(number.to_string().to_lowercase()))
}
