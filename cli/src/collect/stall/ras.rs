//! What NCCL's own service for such cases knows (RAS, NCCL 2.24 and newer): which ranks of which communicator answer.

use std::collections::BTreeSet;
use std::io::{Read as _, Write as _};
use std::net::{TcpStream, ToSocketAddrs as _};
use std::time::Duration;

use crate::collect::environment::Variables;

/// Where it listens unless `NCCL_RAS_ADDR` says otherwise.
const ADDRESS: &str = "localhost:28028";
/// How long connecting and each piece of the answer may take: the ranks are asked before it answers.
const CONNECT: Duration = Duration::from_secs(2);
const ANSWER: Duration = Duration::from_secs(10);
/// Bytes of an answer at most.
const LONGEST: u64 = 8 << 20;
/// A count that does not change between two looks tells who is stuck.
const BETWEEN: Duration = Duration::from_secs(3);

/// Where the service of a process listens that has NCCL loaded; none where it was switched off.
pub fn address(variables: &Variables) -> Option<String> {
    let is_off = variables
        .get("NCCL_RAS_ENABLE")
        .is_some_and(|value| value.trim() == "0");
    let address = variables.get("NCCL_RAS_ADDR").map_or(ADDRESS, String::as_str);
    (!is_off).then(|| address.to_owned())
}

/// What is answered at these places, twice each, by the names of the artifacts.
pub fn ask_twice(addresses: &BTreeSet<String>) -> Vec<(String, String)> {
    let mut answers = Vec::new();
    for look in 1..=2 {
        if look > 1 && !answers.is_empty() {
            std::thread::sleep(BETWEEN);
        }
        let told = addresses.iter().filter_map(|address| ask(address));
        answers.extend(told.map(|answer| {
            let kind = if answer.starts_with('{') { "json" } else { "txt" };
            (format!("ncclras.{look}.{kind}"), answer)
        }));
    }
    answers
}

/// As JSON where the service knows how (2.28.7 and newer), else as text.
fn ask(address: &str) -> Option<String> {
    let as_json = converse(address, "SET FORMAT json\nVERBOSE STATUS\n")?;
    let answer = as_json.trim_start().trim_start_matches("OK").trim_start();
    if answer.starts_with('{') {
        return Some(answer.to_owned());
    }
    converse(address, "VERBOSE STATUS\n").filter(|text| !text.trim().is_empty())
}

fn converse(address: &str, words: &str) -> Option<String> {
    let mut places = address.to_socket_addrs().ok()?;
    let mut stream = places.find_map(|place| TcpStream::connect_timeout(&place, CONNECT).ok())?;
    stream.set_read_timeout(Some(ANSWER)).ok()?;
    stream.write_all(words.as_bytes()).ok()?;
    let mut answer = Vec::new();
    // What came before a pause that was too long is better than nothing.
    let _ = stream.take(LONGEST).read_to_end(&mut answer);
    Some(String::from_utf8_lossy(&answer).into_owned())
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::io::{BufRead as _, BufReader, Write as _};
    use std::net::{Shutdown, TcpListener};

    use super::{address, ask_twice};

    /// A service that understands JSON, or one that is too old for it.
    fn service(knows_json: bool) -> String {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = listener.local_addr().expect("an address").to_string();
        std::thread::spawn(move || {
            for mut stream in listener.incoming().flatten() {
                let mut lines = BufReader::new(stream.try_clone().expect("a second handle")).lines();
                let first = lines.next().and_then(Result::ok).unwrap_or_default();
                let answer = match (first.as_str(), knows_json) {
                    ("SET FORMAT json", true) => "OK\n{\"nccl_version\": \"2.29.2\"}\n",
                    ("VERBOSE STATUS", _) => "NCCL version 2.24.3\n",
                    _ => "ERROR: Unknown command\n",
                };
                let _ = stream.write_all(answer.as_bytes());
                let _ = stream.shutdown(Shutdown::Write);
            }
        });
        address
    }

    #[test]
    fn the_service_is_asked_twice_in_the_form_that_it_knows() {
        for (knows_json, kind, says) in [(true, "json", "2.29.2"), (false, "txt", "2.24.3")] {
            let answers = ask_twice(&BTreeSet::from([service(knows_json)]));
            let names: Vec<&str> = answers.iter().map(|(name, _)| name.as_str()).collect();
            assert_eq!(names, [format!("ncclras.1.{kind}"), format!("ncclras.2.{kind}")]);
            assert!(answers.iter().all(|(_, text)| text.contains(says)), "{answers:?}");
        }
        assert!(ask_twice(&BTreeSet::new()).is_empty());
    }

    #[test]
    fn it_is_asked_where_it_listens_and_not_where_it_is_off() {
        let variables = |pairs: &[(&str, &str)]| {
            let owned = pairs
                .iter()
                .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
            address(&owned.collect())
        };
        assert_eq!(variables(&[]).as_deref(), Some("localhost:28028"));
        assert_eq!(variables(&[("NCCL_RAS_ADDR", "node1:4")]).as_deref(), Some("node1:4"));
        assert_eq!(variables(&[("NCCL_RAS_ENABLE", "0")]), None);
    }
}
