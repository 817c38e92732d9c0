//! The pickle machine, opcode by opcode and against damage.

use proptest::prelude::*;
use whycrash_evidence::Limits;
use whycrash_evidence::readers::pickle::{Fold, Folded, Heap, Keep, Pickle, Value, load};

fn read(bytes: &[u8]) -> Pickle {
    load(bytes, &Limits::default(), &mut Keep)
}

/// The value as Python would print it, as far as `depth` allows.
fn show(heap: &Heap, value: Value, depth: usize) -> String {
    let list = |items: &[Value]| {
        let items: Vec<String> = items.iter().map(|item| show(heap, *item, depth - 1)).collect();
        items.join(", ")
    };
    match value {
        _ if depth == 0 => "…".to_owned(),
        Value::None => "None".to_owned(),
        Value::Bool(flag) => if flag { "True" } else { "False" }.to_owned(),
        Value::Int(number) => number.to_string(),
        Value::Unsigned(number) => number.to_string(),
        Value::Float(number) => format!("{number:?}"),
        Value::String(id) => format!("{:?}", heap.string(id)),
        Value::List(_) => format!("[{}]", list(heap.items(value).unwrap())),
        Value::Tuple(_) => format!("({})", list(heap.items(value).unwrap())),
        Value::Dict(_) => {
            let pairs = heap.pairs(value);
            let pairs: Vec<String> = pairs
                .map(|(key, value)| format!("{}: {}", show(heap, key, depth - 1), show(heap, value, depth - 1)))
                .collect();
            format!("{{{}}}", pairs.join(", "))
        }
        Value::Folded(index) => format!("folded {index}"),
        Value::Gone => "gone".to_owned(),
    }
}

fn check(bytes: &[u8], expected: &str, problem: &str) {
    let pickle = read(bytes);
    let codes: Vec<&str> = pickle.problems.iter().map(|problem| problem.code.as_str()).collect();
    assert_eq!(
        show(&pickle.heap, pickle.root, 6),
        expected,
        "{bytes:02x?}: {:?}",
        pickle.problems
    );
    assert_eq!(codes.join(" "), problem, "{bytes:02x?}");
}

#[test]
fn values_are_read() {
    for (bytes, expected) in [
        (&b"\x80\x02N."[..], "None"),
        (b"\x80\x05\x88.", "True"),
        (b"\x80\x04\x89.", "False"),
        (b"\x80\x02K\xff.", "255"),
        (b"\x80\x02M\xff\xff.", "65535"),
        (b"\x80\x02J\xff\xff\xff\xff.", "-1"),
        (b"\x80\x02\x8a\x00.", "0"),
        (b"\x80\x02\x8a\x01\x80.", "-128"),
        (b"\x80\x02\x8a\x02\x80\x00.", "128"),
        (
            b"\x80\x02\x8a\x08\xff\xff\xff\xff\xff\xff\xff\x7f.",
            "9223372036854775807",
        ),
        (
            b"\x80\x02\x8a\x09\x00\x00\x00\x00\x00\x00\x00\x80\x00.",
            "9223372036854775808",
        ),
        (
            b"\x80\x02\x8a\x09\xff\xff\xff\xff\xff\xff\xff\xff\x00.",
            "18446744073709551615",
        ),
        (b"\x80\x02\x8a\x0a\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00.", "1"),
        (b"\x80\x02G\x3f\xf8\x00\x00\x00\x00\x00\x00.", "1.5"),
        (b"\x80\x04\x8c\x02ab.", r#""ab""#),
        (b"\x80\x02X\x02\x00\x00\x00ab.", r#""ab""#),
        (b"\x80\x04\x8d\x02\x00\x00\x00\x00\x00\x00\x00ab.", r#""ab""#),
        (b"\x80\x02].", "[]"),
        (b"\x80\x02).", "()"),
        (b"\x80\x02}.", "{}"),
        (b"\x80\x02K\x01\x85.", "(1)"),
        (b"\x80\x02K\x01K\x02\x86.", "(1, 2)"),
        (b"\x80\x02K\x01K\x02K\x03\x87.", "(1, 2, 3)"),
        (b"\x80\x02(K\x01K\x02K\x03K\x04t.", "(1, 2, 3, 4)"),
        (b"\x80\x02]K\x01a.", "[1]"),
        (b"\x80\x02](K\x01K\x02e.", "[1, 2]"),
        (b"\x80\x02}X\x01\x00\x00\x00aK\x01s.", r#"{"a": 1}"#),
        (
            b"\x80\x02}(X\x01\x00\x00\x00aK\x01X\x01\x00\x00\x00bK\x02u.",
            r#"{"a": 1, "b": 2}"#,
        ),
        (b"\x80\x02(K\x01K\x021K\x03.", "3"),
        (b"\x80\x02K\x01K\x020.", "1"),
        (b"\x80\x04\x95\x00\x00\x00\x00\x00\x00\x00\x00K\x01.", "1"),
        // Shared by memo: implicit numbers, explicit ones, long ones.
        (b"\x80\x04]\x94(\x8c\x01a\x94h\x01h\x01e.", r#"["a", "a", "a"]"#),
        (b"\x80\x02](X\x01\x00\x00\x00aq\x07h\x07e.", r#"["a", "a"]"#),
        (
            b"\x80\x02]r\x00\x00\x00\x00(X\x01\x00\x00\x00ar\x01\x00\x00\x00j\x01\x00\x00\x00e.",
            r#"["a", "a"]"#,
        ),
        (b"\x80\x04K\x07\x94h\x00\x86.", "(7, 7)"),
        // A list that holds itself.
        (b"\x80\x04]\x94h\x00a.", "[[[[[[…]]]]]]"),
        // What follows the end does not count.
        (b"\x80\x04K\x01.\x00\x00", "1"),
    ] {
        check(bytes, expected, "");
    }
}

#[test]
fn what_is_wrong_is_named() {
    for (bytes, expected, problem) in [
        (&b""[..], "None", "truncated"),
        (b"\x80", "None", "truncated"),
        (b"\x80\x02](K\x01K\x02", "[1, 2]", "truncated"),
        (
            b"\x80\x02}(X\x01\x00\x00\x00aK\x01X\x01\x00\x00\x00b",
            r#"{"a": 1}"#,
            "truncated",
        ),
        (b"\x80\x02}(X\x01\x00\x00\x00a](K\x01", r#"{"a": [1]}"#, "truncated"),
        (b"\x80\x02}(X\x01\x00\x00\x00a]](K\x01", r#"{"a": [[1]]}"#, "truncated"),
        (b"\x80\x02X\xff\xff\xff\x00ab", "None", "truncated"),
        (b"\x80\x02X\xff\xff\xff\xffab", "None", "limit-pickle-string"),
        (
            b"\x80\x04\x8d\xff\xff\xff\xff\xff\xff\xff\xffab",
            "None",
            "limit-pickle-string",
        ),
        (b"\x80\x01K\x01.", "None", "pickle-protocol"),
        (b"\x80\x06K\x01.", "None", "pickle-protocol"),
        (b"\x80\x02](K\x01cos\nsystem\n", "[1]", "pickle-refused-opcode"),
        (b"\x80\x04\x8c\x02os\x93.", "\"os\"", "pickle-refused-opcode"),
        (b"\x80\x02)R.", "()", "pickle-refused-opcode"),
        (b"\x80\x02}b.", "{}", "pickle-refused-opcode"),
        (b"\x80\x04\x8f.", "None", "pickle-refused-opcode"),
        (b"\x80\x02I1\n.", "None", "pickle-unknown-opcode"),
        (b"\x80\x02h\x00.", "None", "pickle-malformed"),
        (b"\x80\x02a.", "None", "pickle-malformed"),
        (b"\x80\x02K\x01K\x02a.", "1", "pickle-malformed"),
        (b"\x80\x02e.", "None", "pickle-malformed"),
        (b"\x80\x02}K\x01s.", "{}", "pickle-malformed"),
        (b"\x80\x02}(K\x01u.", "{}", "pickle-malformed"),
        (b"\x80\x02K\x01(\x86.", "1", "pickle-malformed"),
        (b"\x80\x020.", "None", "pickle-malformed"),
        (b"\x80\x021.", "None", "pickle-malformed"),
        (b"\x80\x04\x94.", "None", "pickle-malformed"),
        (b"\x80\x02K\x01r\xff\xff\xff\xff.", "1", "pickle-malformed"),
        (
            b"\x80\x02\x8a\x09\x00\x00\x00\x00\x00\x00\x00\x00\x01.",
            "None",
            "pickle-wide-integer",
        ),
        (
            b"\x80\x02\x8a\x09\xff\xff\xff\xff\xff\xff\xff\x7f\xff.",
            "None",
            "pickle-wide-integer",
        ),
        (b"\x80\x04\x8c\x02a\xff.", "\"a\u{fffd}\"", "pickle-bad-string"),
    ] {
        check(bytes, expected, problem);
    }
}

#[test]
fn bombs_stay_small() {
    // Each list holds the one before it twice: 2^200 items if anything ever copied them.
    let mut doubling = b"\x80\x04]\x94".to_vec();
    for number in 0..200u8 {
        doubling.extend([b']', 0x94, b'(', b'h', number, b'h', number, b'e']);
    }
    doubling.push(b'.');
    let pickle = read(&doubling);
    assert_eq!(pickle.problems, []);
    assert!(pickle.heap.held() < 2000);

    let limits = Limits {
        pickle_values: 10_000,
        ..Limits::default()
    };
    for opcodes in [&b"]"[..], b"(", b"N", b"}", b"]\x94", b"h\x00"] {
        let mut deep = b"\x80\x04]\x94".to_vec();
        deep.extend(opcodes.repeat(200_000));
        let problems = load(deep.as_slice(), &limits, &mut Keep).problems;
        assert_eq!(problems[0].code, "limit-pickle-values", "{opcodes:?}");
    }
}

/// Folds dicts with the key `x`, keeping the sum of what they held.
#[derive(Default)]
struct Sum(u64, Vec<String>);

impl Fold for Sum {
    fn dict(&mut self, heap: &mut Heap, parent: Option<Value>, pairs: &[Value]) -> Folded {
        match pairs {
            [key, value, ..] if heap.text(*key) == Some("x") => {
                self.0 += value.as_u64().unwrap_or(0);
                self.1
                    .push(parent.map_or_else(String::new, |parent| show(heap, parent, 2)));
                Folded::Consumed
            }
            [key, ..] if heap.text(*key) == Some("y") => Folded::Replaced(7),
            _ => Folded::Kept,
        }
    }
}

#[test]
fn folded_dicts_leave_nothing_behind() {
    let mut bytes = b"\x80\x04]\x94(".to_vec();
    for _ in 0..100_000 {
        bytes.extend(b"}\x94(\x8c\x01xK\x02u");
    }
    bytes.extend(b"e.");
    let mut sum = Sum::default();
    let pickle = load(bytes.as_slice(), &Limits::default(), &mut sum);
    assert_eq!(pickle.problems, []);
    assert_eq!(sum.0, 200_000);
    assert!(sum.1.iter().all(|parent| parent == "[]"));
    assert!(pickle.heap.held() < 100);

    // A single item is appended without a mark; a replaced dict is what the memo then names; a dict that something
    // else refers to already is left alone.
    let mut sum = Sum::default();
    let bytes = b"\x80\x04](]}(\x8c\x01xK\x02ua}\x94(\x8c\x01yK\x01uh\x00}\x94h\x01(\x8c\x01xK\x01ue.";
    let pickle = load(&bytes[..], &Limits::default(), &mut sum);
    assert_eq!(
        show(&pickle.heap, pickle.root, 4),
        r#"[[], folded 7, folded 7, {"x": 1}, {"x": 1}]"#
    );
    assert_eq!((sum.0, sum.1), (2, vec!["[]".to_owned()]));
}

/// Values as a writer would have them, written with every width the format has.
#[derive(Clone, Debug)]
enum Tree {
    None,
    Bool(bool),
    Int(i64),
    Float(f64),
    Text(String),
    List(Vec<Tree>),
    Dict(Vec<(String, Tree)>),
}

fn tree() -> impl Strategy<Value = Tree> {
    let leaf = prop_oneof![
        Just(Tree::None),
        any::<bool>().prop_map(Tree::Bool),
        any::<i64>().prop_map(Tree::Int),
        (-1000i64..1000).prop_map(Tree::Int),
        (-1e9..1e9f64).prop_map(Tree::Float),
        "[a-zé]{0,8}".prop_map(Tree::Text),
    ];
    leaf.prop_recursive(4, 40, 6, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..6).prop_map(Tree::List),
            prop::collection::vec(("[a-z]{1,4}", inner), 0..6).prop_map(Tree::Dict),
        ]
    })
}

fn write(tree: &Tree, out: &mut Vec<u8>) {
    match tree {
        Tree::None => out.push(b'N'),
        Tree::Bool(flag) => out.push(if *flag { 0x88 } else { 0x89 }),
        Tree::Int(number) => match (u8::try_from(*number), i32::try_from(*number)) {
            (Ok(byte), _) => out.extend([b'K', byte]),
            (_, Ok(number)) => {
                out.push(b'J');
                out.extend(number.to_le_bytes());
            }
            _ => {
                out.extend([0x8a, 8]);
                out.extend(number.to_le_bytes());
            }
        },
        Tree::Float(number) => {
            out.push(b'G');
            out.extend(number.to_be_bytes());
        }
        Tree::Text(text) => {
            out.extend([0x8c, text.len() as u8]);
            out.extend(text.as_bytes());
            out.push(0x94);
        }
        Tree::List(items) => {
            out.extend(b"]\x94(");
            for item in items {
                write(item, out);
            }
            out.push(b'e');
        }
        Tree::Dict(pairs) => {
            out.extend(b"}\x94(");
            for (key, value) in pairs {
                write(&Tree::Text(key.clone()), out);
                write(value, out);
            }
            out.push(b'u');
        }
    }
}

fn shown(tree: &Tree) -> String {
    match tree {
        Tree::None => "None".to_owned(),
        Tree::Bool(flag) => if *flag { "True" } else { "False" }.to_owned(),
        Tree::Int(number) => number.to_string(),
        Tree::Float(number) => format!("{number:?}"),
        Tree::Text(text) => format!("{text:?}"),
        Tree::List(items) => format!("[{}]", items.iter().map(shown).collect::<Vec<_>>().join(", ")),
        Tree::Dict(pairs) => {
            let pairs: Vec<String> = pairs
                .iter()
                .map(|(key, value)| format!("{key:?}: {}", shown(value)))
                .collect();
            format!("{{{}}}", pairs.join(", "))
        }
    }
}

fn pickled(tree: &Tree) -> Vec<u8> {
    let mut bytes = b"\x80\x04".to_vec();
    write(tree, &mut bytes);
    bytes.push(b'.');
    bytes
}

proptest! {
    #[test]
    fn what_is_written_is_read(tree in tree()) {
        let pickle = read(&pickled(&tree));
        prop_assert_eq!(&pickle.problems, &[]);
        prop_assert_eq!(show(&pickle.heap, pickle.root, 20), shown(&tree));
    }

    #[test]
    fn random_bytes_are_survived(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        let mut framed = b"\x80\x04".to_vec();
        framed.extend(bytes);
        let pickle = read(&framed);
        prop_assert!(pickle.heap.held() <= 4 * framed.len());
    }

    #[test]
    fn random_opcodes_are_survived(opcodes in prop::collection::vec(prop::sample::select(&b"]}()N.K\x01(tueas01qh\x00\x94\x85\x86\x87\x88\x8a\x8cX"[..]), 0..300)) {
        let mut framed = b"\x80\x04".to_vec();
        framed.extend(opcodes);
        let pickle = read(&framed);
        show(&pickle.heap, pickle.root, 3);
    }

    #[test]
    fn damaged_pickles_are_survived(tree in tree(), at in any::<prop::sample::Index>(), byte in any::<u8>(), cut in any::<prop::sample::Index>()) {
        let mut bytes = pickled(&tree);
        let place = at.index(bytes.len());
        bytes[place] = byte;
        bytes.truncate(cut.index(bytes.len()) + 1);
        let pickle = read(&bytes);
        prop_assert!(pickle.complete || !pickle.problems.is_empty());
    }
}
