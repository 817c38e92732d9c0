//! Whether what is sent fits what is asked for.

use crate::model::RecorderEntry;

/// Sizes and types of what an operation moves: what a send reads and a receive writes.
pub(super) fn moved(entry: &RecorderEntry) -> (&str, &str) {
    match &*entry.operation {
        "send" => (&entry.input_sizes, &entry.input_dtypes),
        _ => (&entry.output_sizes, &entry.output_dtypes),
    }
}

/// The kind of mismatch, if there is one. How the elements are arranged does not matter; nor do their types where the
/// bytes are the same and their number is not: then somebody looks at the same memory in another way on purpose.
pub(super) fn mismatch(send: &RecorderEntry, receive: &RecorderEntry) -> Option<&'static str> {
    let ((sent, sent_type), (asked, asked_type)) = (moved(send), moved(receive));
    let known = !sent_type.is_empty() && !asked_type.is_empty();
    let types_differ = known && sent_type != asked_type;
    let (sent_count, asked_count) = (elements(sent)?, elements(asked)?);
    if sent_count == asked_count {
        return types_differ.then_some("dtype-mismatch");
    }
    let bytes = |count: u64, name: &str| count.checked_mul(element_bytes(name)?);
    let same_bytes = types_differ && {
        let (sent, asked) = (bytes(sent_count, sent_type), bytes(asked_count, asked_type));
        sent.is_some() && sent == asked
    };
    (!same_bytes).then_some("shape-mismatch")
}

/// Elements of all tensors: `[[4, 2], [3]]` has 11, `[[]]` is one scalar. `None` for what is no such list.
fn elements(sizes: &str) -> Option<u64> {
    let inner = sizes.strip_prefix('[')?.strip_suffix(']')?;
    let mut sum: u64 = 0;
    for tensor in inner.split_inclusive(']') {
        let dimensions = tensor
            .trim_start_matches([',', ' '])
            .strip_prefix('[')?
            .strip_suffix(']')?;
        let mut product: u64 = 1;
        for dimension in dimensions.split(',').map(str::trim).filter(|text| !text.is_empty()) {
            product = product.checked_mul(dimension.parse().ok()?)?;
        }
        sum = sum.checked_add(product)?;
    }
    Some(sum)
}

/// Bytes of one element, by the names that the recorder gives types: those of `c10::toString`. All of a list's must be
/// of one type.
fn element_bytes(names: &str) -> Option<u64> {
    let mut names = names.trim_matches(['[', ']']).split(',').map(str::trim);
    let first = names.next()?;
    if names.any(|name| name != first) {
        return None;
    }
    Some(match first {
        "Bool" | "Byte" | "Char" => 1,
        name if name.starts_with("Float8") => 1,
        "BFloat16" | "Half" | "Short" => 2,
        "Float" | "Int" => 4,
        "ComplexFloat" | "Double" | "Long" => 8,
        "ComplexDouble" => 16,
        _ => return None,
    })
}
