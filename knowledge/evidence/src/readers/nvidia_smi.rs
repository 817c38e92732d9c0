//! `nvidia-smi -q`: how the GPUs of a machine are, as indented names and values.

use serde_json::{Map, Value};

/// GPUs of one answer.
const GPUS: usize = 64;
/// Members kept of one GPU.
const MEMBERS: usize = 256;
/// Indentation of one level.
const LEVEL: usize = 4;
/// Groups whose members tell of a sick GPU.
const GROUPS: [&str; 6] = [
    "ecc errors",
    "retired pages",
    "remapped rows",
    "row remapper",
    "gpu recovery action",
    "clocks event reasons",
];
/// Members that are kept wherever they stand.
const NAMES: [&str; 7] = [
    "product name",
    "gpu uuid",
    "serial number",
    "minor number",
    "gpu recovery action",
    "gpu reset status",
    "mig mode",
];

/// An answer that is read line by line.
#[derive(Debug, Default)]
pub struct Query {
    answer: Map<String, Value>,
    gpus: Vec<Value>,
    gpu: Option<Map<String, Value>>,
    /// The names above the line at hand.
    path: Vec<String>,
}

impl Query {
    /// Takes the next line.
    pub fn line(&mut self, line: &str) {
        let text = line.trim();
        let depth = (line.len() - line.trim_start().len()) / LEVEL;
        if text.is_empty() {
            return;
        }
        if depth == 0
            && let Some(bus) = text.strip_prefix("GPU ").filter(|bus| bus.contains(':'))
        {
            self.end_gpu();
            let bus = (String::from("bus_id"), Value::from(bus.to_ascii_lowercase()));
            self.gpu = Some(Map::from_iter([bus]));
            self.path.clear();
            return;
        }
        // The GPU itself is the first level.
        self.path.truncate(depth.saturating_sub(1));
        // A value may have a colon, a name has none.
        let Some((name, value)) = text.split_once(" : ").or_else(|| text.split_once("\t: ")) else {
            self.path.push(text.to_ascii_lowercase());
            return;
        };
        self.member(&name.trim().to_ascii_lowercase(), value.trim());
    }

    fn member(&mut self, name: &str, value: &str) {
        let Some(gpu) = &mut self.gpu else {
            let known = ["driver version", "cuda version"].contains(&name);
            if known {
                self.answer.insert(key(name), value.into());
            }
            return;
        };
        let is_told = GROUPS.iter().any(|group| self.path.iter().any(|above| above == group));
        if value != "N/A" && (is_told || NAMES.contains(&name)) && gpu.len() < MEMBERS {
            let above = self.path.iter().filter(|_| is_told).map(String::as_str);
            let path: Vec<String> = above.chain([name]).map(key).collect();
            gpu.insert(path.join("_"), scalar(value));
        }
    }

    fn end_gpu(&mut self) {
        if let Some(gpu) = self.gpu.take().filter(|_| self.gpus.len() < GPUS) {
            self.gpus.push(gpu.into());
        }
    }

    /// The answer: `driver_version`, `cuda_version` and `gpus`, each with its `bus_id`. Empty where nothing was read.
    pub fn finish(mut self) -> Map<String, Value> {
        self.end_gpu();
        if !self.gpus.is_empty() {
            self.answer.insert("gpus".to_owned(), self.gpus.into());
        }
        self.answer
    }
}

fn key(name: &str) -> String {
    name.replace([' ', '-', '.'], "_")
}

/// A count as a number, anything else as it is.
fn scalar(value: &str) -> Value {
    value.parse::<u64>().map_or_else(|_| value.into(), Value::from)
}
