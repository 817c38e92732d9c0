//! Writes a value as libtorch's pickler does (protocol 2), for snapshots and recorders made up by a test.

use serde_json::Value;

/// The pickle of a value.
pub fn pickled(value: &Value) -> Vec<u8> {
    let mut bytes = vec![0x80, 2];
    write(value, &mut bytes);
    bytes.push(b'.');
    bytes
}

fn write(value: &Value, into: &mut Vec<u8>) {
    match value {
        Value::Null => into.push(b'N'),
        Value::Bool(true) => into.push(0x88),
        Value::Bool(false) => into.push(0x89),
        Value::Number(number) => integer(number, into),
        Value::String(text) => {
            into.push(b'X');
            into.extend((text.len() as u32).to_le_bytes());
            into.extend(text.as_bytes());
        }
        Value::Array(items) => {
            into.extend(b"](");
            items.iter().for_each(|item| write(item, into));
            into.push(b'e');
        }
        Value::Object(members) => {
            into.extend(b"}(");
            for (key, value) in members {
                write(&Value::String(key.clone()), into);
                write(value, into);
            }
            into.push(b'u');
        }
    }
}

/// Nine bytes hold every unsigned number of 64 bits, two's complement.
fn integer(number: &serde_json::Number, into: &mut Vec<u8>) {
    let number = number.as_i128().expect("an integer");
    into.extend([0x8a, 9]);
    into.extend(&number.to_le_bytes()[..9]);
}
