//! What leaves this machine, without the secrets and names of people in it.
//!
//! Text is scrubbed line by line ([`rules`]), so that every line keeps its number and what cites it still does. A
//! stream is searched once for anything that may be a secret; only lines that have such a thing are looked at closely.

mod artifacts;
mod rules;

use std::borrow::Cow;
use std::io::{Read, Write};
use std::path::PathBuf;
use std::sync::LazyLock;

use rules::Rules;

pub use artifacts::{Changed, outgoing};
pub use rules::{REMOVED, is_secret_name};

/// Bytes that are read at a time.
const CHUNK: usize = 1 << 20;
/// A line that is longer is taken apart where it has a space.
const LONGEST_LINE: usize = 4 << 20;
/// Lines that the body of a private key has at most.
const KEY_LINES: u32 = 200;

static RULES: LazyLock<Rules> = LazyLock::new(|| Rules::new(home().as_deref()));

/// Our user's home, where it is called like them.
fn home() -> Option<PathBuf> {
    let home = std::env::home_dir()?;
    let is_name = |variable| {
        home.file_name()
            .is_some_and(|name| std::env::var_os(variable).is_some_and(|own| own == name))
    };
    let is_named = ["USER", "LOGNAME"].into_iter().any(is_name);
    is_named.then_some(home)
}

/// A line, or a part of one, without the secrets in it. The names of people stay.
pub fn line(text: &str) -> String {
    String::from_utf8_lossy(&RULES.without_secrets(text.as_bytes())).into_owned()
}

/// A text without the secrets in it; whether that changed it.
///
/// # Errors
/// When it can not be read to its end, or written; what was read until then is written.
pub fn text(mut from: impl Read, mut to: impl Write) -> std::io::Result<bool> {
    let mut scrubber = Scrubber::default();
    let mut buffer = Vec::new();
    let mut clean = Vec::new();
    let mut has_changed = false;
    loop {
        let read = from.by_ref().take(CHUNK as u64).read_to_end(&mut buffer);
        let is_end = !matches!(read, Ok(length) if length > 0);
        let whole = if is_end { buffer.len() } else { end_of_lines(&buffer) };
        clean.clear();
        has_changed |= scrubber.block(buffer.get(..whole).unwrap_or_default(), &mut clean);
        to.write_all(&clean)?;
        buffer.drain(..whole);
        if is_end {
            to.flush()?;
            return read.map(|_| has_changed);
        }
    }
}

/// How much of a buffer can be looked at without what follows.
fn end_of_lines(buffer: &[u8]) -> usize {
    let after_last = |byte| memchr::memrchr(byte, buffer).map(|at| at + 1);
    match after_last(b'\n') {
        Some(end) => end,
        None if buffer.len() < LONGEST_LINE => 0,
        None => after_last(b' ').unwrap_or(buffer.len()),
    }
}

/// Takes secrets out of the lines of a text, in their order.
#[derive(Debug, Default)]
struct Scrubber {
    /// Within a private key, how many more lines it may have.
    key_lines_left: u32,
}

impl Scrubber {
    /// Whole lines; whether any of them changed.
    fn block(&mut self, mut block: &[u8], clean: &mut Vec<u8>) -> bool {
        let mut has_changed = false;
        while !block.is_empty() {
            let start = if self.key_lines_left > 0 {
                0
            } else {
                let Some(hit) = RULES.first_suspicion(block) else { break };
                let before = block.get(..hit).unwrap_or_default();
                memchr::memrchr(b'\n', before).map_or(0, |at| at + 1)
            };
            let (before, rest) = block.split_at(start);
            let end = memchr::memchr(b'\n', rest).unwrap_or(rest.len());
            let (line, after) = rest.split_at(end);
            let (line_end, after) = after.split_at(after.len().min(1));
            let scrubbed = self.line(line);
            has_changed |= matches!(scrubbed, Cow::Owned(_));
            clean.extend_from_slice(before);
            clean.extend_from_slice(&scrubbed);
            clean.extend_from_slice(line_end);
            block = after;
        }
        clean.extend_from_slice(block);
        has_changed
    }

    fn line<'l>(&mut self, line: &'l [u8]) -> Cow<'l, [u8]> {
        if self.key_lines_left > 0
            && let Some(scrubbed) = self.line_of_key(line)
        {
            return Cow::Owned(scrubbed);
        }
        let (scrubbed, opens_key) = RULES.line(line);
        self.key_lines_left = if opens_key { KEY_LINES } else { 0 };
        scrubbed
    }

    /// A line of a private key; none where it is of something else, because the key was cut off.
    fn line_of_key(&mut self, line: &[u8]) -> Option<Vec<u8>> {
        self.key_lines_left -= 1;
        if let Some(end) = rules::end_of_key(line) {
            self.key_lines_left = 0;
            return Some(end.to_vec());
        }
        let is_of_key = rules::may_be_of_key(line);
        if !is_of_key {
            self.key_lines_left = 0;
        }
        is_of_key.then(|| REMOVED.as_bytes().to_vec())
    }
}

#[cfg(test)]
mod tests {
    use super::{line, text};

    fn scrubbed(input: &str) -> String {
        let mut clean = Vec::new();
        let has_changed = text(input.as_bytes(), &mut clean).expect("memory can be read and written");
        let clean = String::from_utf8(clean).expect("it is text still");
        assert_eq!(has_changed, clean != input, "{input}");
        clean
    }

    /// Every secret is called like this, so that one that stays is seen.
    const GONE: &str = "s3cretS3cretS3cret99";

    #[test]
    fn secrets_go_and_what_stands_around_them_stays() {
        let cases = [
            (
                "export TOKEN=x; python train.py",
                "export TOKEN=[removed]; python train.py",
            ),
            ("+ export HF_TOKEN='x y' && run", "+ export HF_TOKEN='[removed]' && run"),
            (
                "declare -x WANDB_API_KEY=\"x\"",
                "declare -x WANDB_API_KEY=\"[removed]\"",
            ),
            (
                "AWS_SECRET_ACCESS_KEY=a/b+c AWS_REGION=eu",
                "AWS_SECRET_ACCESS_KEY=[removed] AWS_REGION=eu",
            ),
            ("aws_secret_access_key = @", "aws_secret_access_key = [removed]"),
            ("DB_PASSWORD=x python -m job", "DB_PASSWORD=[removed] python -m job"),
            (
                "{\"api_key\": \"@\", \"lr\": 3}",
                "{\"api_key\": \"[removed]\", \"lr\": 3}",
            ),
            ("{'token': '@', 'n': 1}", "{'token': '[removed]', 'n': 1}"),
            (
                "cfg: \"{\\\"password\\\": \\\"@\\\"}\"",
                "cfg: \"{\\\"password\\\": \\\"[removed]\\\"}\"",
            ),
            ("password: hunter2", "password: [removed]"),
            ("client_secret=hunter2&x", "client_secret=[removed]&x"),
            (
                "wget --password hunter2 https://a.b/c",
                "wget --password [removed] https://a.b/c",
            ),
            ("train --api-key=abc --lr 3", "train --api-key=[removed] --lr 3"),
            (
                "curl -H 'Authorization: Bearer abc.def' https://h/x?sig=1&n=2",
                "curl -H 'Authorization: Bearer [removed]' https://h/x?sig=[removed]&n=2",
            ),
            (
                "sent header authorization: Basic QWxhZGRpbjpvcGVu",
                "sent header authorization: Basic [removed]",
            ),
            ("got bearer @ from peer", "got bearer [removed] from peer"),
            (
                "git clone https://me:p@ss@host/x.git",
                "git clone https://[removed]@host/x.git",
            ),
            (
                "redis://:pw@10.0.0.1:6379/0 is slow",
                "redis://[removed]@10.0.0.1:6379/0 is slow",
            ),
            (
                "GET https://b.s3.amazonaws.com/k?X-Amz-Signature=ab12&X-Amz-Date=3 403",
                "GET https://b.s3.amazonaws.com/k?X-Amz-Signature=[removed]&X-Amz-Date=3 403",
            ),
            ("login hf_abcdefghijklmnopq now", "login [removed] now"),
            (
                "push with ghp_0123456789abcdefghij0123456789abcdef",
                "push with [removed]",
            ),
            ("id AKIAIOSFODNN7EXAMPLE used", "id [removed] used"),
            (
                "jwt eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.abc-_1 end",
                "jwt [removed] end",
            ),
            (
                "wandb login 0123456789abcdef0123456789abcdef01234567",
                "wandb login [removed]",
            ),
            (
                "machine api.wandb.ai login user password hunter2",
                "machine api.wandb.ai login user password [removed]",
            ),
            (
                "post https://hooks.slack.com/services/T0/B0/abc failed",
                "post https://hooks.slack.com/services/[removed] failed",
            ),
        ];
        for (before, after) in cases {
            let before = before.replace('@', if before.contains("://") { "@" } else { GONE });
            assert_eq!(scrubbed(&before), after);
            assert_eq!(scrubbed(after), after, "once is enough");
        }
    }

    #[test]
    fn names_of_people_in_paths_go() {
        assert_eq!(
            scrubbed("  File \"/home/alice/job/train.py\", line 3, in step\n/Users/bob: -I/home/alice/include\n"),
            "  File \"/home/user/job/train.py\", line 3, in step\n/Users/user: -I/home/user/include\n"
        );
    }

    #[test]
    fn what_only_sounds_like_a_secret_stays() {
        for plain in [
            "step 3 loss 2.1 tokens/s 12034 tokens_per_batch: 4096",
            "max_tokens=4096 pad_token=<pad> eos_token: </s> bos_token_id=1 n_token: 128000",
            "TOKENIZERS_PARALLELISM=false MAX_TOKENS=4096 AUTHOR=me",
            "KeyError: 'token'",
            "Unexpected token: expected a number",
            "tokenizer: LlamaTokenizerFast key=value monkey: banana",
            "export TOKEN=$HF_TOKEN; echo ${API_KEY}",
            "author: somebody, authors=3, basic training of the model",
            "https://host:8443/path?page=2&max=3 user@host",
            "git commit 0123456789abcdef0123456789abcdef01234567",
            "password: None, secret=null, api_key=\"\"",
            "  File \"/opt/conda/lib/python3.12/site-packages/torch/nn/modules/module.py\", line 1511, in _wrapped_call_impl",
            "whycrash_plugin_host::sandbox::convert::limits_of_a_plugin",
        ] {
            assert_eq!(scrubbed(plain), plain);
        }
    }

    #[test]
    fn a_private_key_goes_over_all_its_lines_and_no_more() {
        let key = "a\nrank 0: -----BEGIN RSA PRIVATE KEY-----\nrank 0: MIIEowIBAAKCAQEA7\nrank 0: q8Zw==\nrank 0: -----END RSA PRIVATE KEY-----\nb\n";
        assert_eq!(
            scrubbed(key),
            "a\nrank 0: -----BEGIN RSA PRIVATE KEY-----\n[removed]\n[removed]\n-----END RSA PRIVATE KEY-----\nb\n"
        );
        let cut = "-----BEGIN PRIVATE KEY-----\nMIIEowIBAAKCAQEA7\nstep 3: the loss is 2.1 and falls\nTOKEN=x\n";
        assert_eq!(
            scrubbed(cut),
            "-----BEGIN PRIVATE KEY-----\n[removed]\nstep 3: the loss is 2.1 and falls\nTOKEN=[removed]\n"
        );
        let in_json = r#"{"private_key": "-----BEGIN PRIVATE KEY-----\nMIIE\n-----END PRIVATE KEY-----\n", "a": 1}"#;
        assert_eq!(scrubbed(in_json), r#"{"private_key": "[removed]", "a": 1}"#);
        let echoed = r"key=-----BEGIN OPENSSH PRIVATE KEY-----\nb3BlbnNzaC1rZXk\n-----END OPENSSH PRIVATE KEY----- end";
        assert_eq!(
            scrubbed(echoed),
            "key=-----BEGIN OPENSSH PRIVATE KEY-----[removed]-----END OPENSSH PRIVATE KEY----- end"
        );
    }

    #[test]
    fn lines_keep_their_numbers_across_chunks_and_ends() {
        let mut log = String::new();
        for number in 0..40_000 {
            log.push_str(&format!("line {number} is quite an ordinary one of a log\n"));
            if number % 1000 == 7 {
                log.push_str(&format!("export API_TOKEN={GONE} # {number}\r\n"));
            }
        }
        log.push_str("no newline, password=hunter2");
        let clean = scrubbed(&log);
        assert_eq!(clean.lines().count(), log.lines().count());
        assert!(!clean.contains(GONE) && clean.ends_with("password=[removed]"));
        let same = log.lines().zip(clean.lines()).filter(|(before, after)| before == after);
        assert_eq!(same.count(), 40_000);
    }

    #[test]
    fn a_line_without_an_end_takes_no_more_memory_than_its_bound() {
        let long = format!(
            "{} API_TOKEN={GONE} {}",
            "word ".repeat(1 << 20),
            "word ".repeat(1 << 20)
        );
        let clean = scrubbed(&long);
        assert!(clean.contains("API_TOKEN=[removed] word") && !clean.contains(GONE));
    }

    #[test]
    fn a_part_of_a_line_is_scrubbed_alike() {
        assert_eq!(line("a 'quoted  text' | b && c"), "a 'quoted  text' | b && c");
        assert_eq!(line("--hf-token=xyz"), "--hf-token=[removed]");
    }
}
