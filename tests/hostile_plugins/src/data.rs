//! Records of the interface in a module's memory, laid out as the canonical ABI has them.

use crate::{Case, Claim, Place};

/// Where data begins; what is before is room for what the host returns.
const START: u32 = 1024;
/// Elements of a list, and of a text, are found by a pointer and a count.
type List = (u32, u32);

/// Memory that is filled from its start.
#[derive(Debug, Default)]
pub struct Data {
    bytes: Vec<u8>,
}

impl Data {
    /// What it holds, and where that begins.
    pub fn segment(&self) -> (u32, &[u8]) {
        (START, &self.bytes)
    }

    /// The first address behind it.
    pub fn end(&self) -> u32 {
        START + self.bytes.len() as u32
    }

    /// A text. `hex:` begins one in hexadecimal digits, for what is no text; `N*` one that is repeated.
    pub fn text(&mut self, text: &str) -> List {
        let bytes = spelled(text);
        (self.put(1, &bytes), bytes.len() as u32)
    }

    fn texts(&mut self, texts: &[String]) -> List {
        let texts: Vec<List> = texts.iter().map(|text| self.text(text)).collect();
        let record: Vec<u8> = texts.iter().copied().flat_map(list).collect();
        (self.put(4, &record), texts.len() as u32)
    }

    /// The record `plugin-info`.
    pub fn info(&mut self, case: &Case) -> u32 {
        let info = &case.info;
        let name = if info.name.is_empty() { &case.name } else { &info.name };
        let parts = [
            self.text(name),
            self.text(&info.version),
            self.texts(&info.causes),
            self.texts(&info.any_of),
            self.texts(&info.all_of),
        ];
        let record: Vec<u8> = parts.into_iter().flat_map(list).collect();
        self.put(4, &record)
    }

    /// The `result` of `diagnose`: these findings, and nothing to collect.
    pub fn diagnosis(&mut self, findings: &[Claim]) -> u32 {
        let times = findings
            .iter()
            .flat_map(|claim| std::iter::repeat_n(claim, claim.times));
        let records: Vec<Vec<u8>> = times.map(|claim| self.finding(claim)).collect();
        let findings = (self.put(8, &records.concat()), records.len() as u32);
        let mut record = vec![0; 4];
        record.extend(list(findings));
        record.extend(list((0, 0)));
        self.put(4, &record)
    }

    fn finding(&mut self, claim: &Claim) -> Vec<u8> {
        let mut record = Vec::new();
        record.extend(list(self.text(&claim.cause)));
        record.extend(self.option(claim.title.as_deref()));
        pad(&mut record, 8);
        record.extend(claim.confidence.to_le_bytes());
        record.extend(list(self.text(&claim.explanation)));
        record.extend(list(self.places(&claim.cites)));
        record.extend(list(self.places(&claim.against)));
        record.extend(self.option(claim.first_step.as_deref()));
        pad(&mut record, 8);
        record
    }

    fn places(&mut self, places: &[Place]) -> List {
        let times = places.iter().flat_map(|place| std::iter::repeat_n(place, place.times));
        let records: Vec<Vec<u8>> = times.map(|place| self.citation(place)).collect();
        (self.put(8, &records.concat()), records.len() as u32)
    }

    fn citation(&mut self, place: &Place) -> Vec<u8> {
        let mut record: Vec<u8> = list(self.text(&place.artifact)).collect();
        let (tag, at): (u8, Vec<u8>) = if let Some([first, last]) = place.line {
            (0, [first.to_le_bytes(), last.to_le_bytes()].concat())
        } else if let Some((thread, index)) = &place.frame {
            let thread = list(self.text(thread));
            (1, thread.chain(index.to_le_bytes()).collect())
        } else if let Some(number) = place.event {
            (2, number.to_le_bytes().to_vec())
        } else if let Some([first, end]) = place.bytes {
            (3, [first.to_le_bytes(), end.to_le_bytes()].concat())
        } else {
            (4, list(self.text(place.fact.as_deref().unwrap_or_default())).collect())
        };
        record.push(tag);
        pad(&mut record, 8);
        record.extend(at);
        record.resize(32, 0);
        record.extend(list(self.text(&place.quote)));
        record
    }

    fn option(&mut self, text: Option<&str>) -> Vec<u8> {
        let mut record = vec![u8::from(text.is_some()), 0, 0, 0];
        let text = text.map_or((0, 0), |text| self.text(text));
        record.extend(list(text));
        record
    }

    fn put(&mut self, align: usize, bytes: &[u8]) -> u32 {
        while !self.bytes.len().is_multiple_of(align) {
            self.bytes.push(0);
        }
        let at = self.end();
        self.bytes.extend(bytes);
        at
    }
}

fn list((at, count): List) -> impl Iterator<Item = u8> {
    at.to_le_bytes().into_iter().chain(count.to_le_bytes())
}

fn pad(record: &mut Vec<u8>, align: usize) {
    record.resize(record.len().next_multiple_of(align), 0);
}

fn spelled(text: &str) -> Vec<u8> {
    if let Some(digits) = text.strip_prefix("hex:") {
        let digits: Vec<u32> = digits.chars().filter_map(|digit| digit.to_digit(16)).collect();
        return digits
            .chunks(2)
            .map(|pair| (pair.iter().fold(0, |sum, digit| sum * 16 + digit)) as u8)
            .collect();
    }
    match text.split_once('*').map(|(times, text)| (times.parse::<usize>(), text)) {
        Some((Ok(times), text)) => text.repeat(times).into_bytes(),
        _ => text.as_bytes().to_vec(),
    }
}
