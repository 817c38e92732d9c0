//! Which types lie together: by what they are part of, in files small enough to read.

use std::collections::{BTreeMap, BTreeSet};

use super::{Definition, Shape, Type};

/// The rooms, and the types that are their doors: what is used through one door alone lies behind it.
const DOORS: [(&str, &[&str]); 8] = [
    ("events", &["EventPayload"]),
    (
        "memory",
        &["MemorySnapshot", "MemoryDetail", "MemoryCurve", "FaultAddress"],
    ),
    ("gpu", &["GpuCore", "GpuTimeline"]),
    ("collectives", &["Collectives", "CollectiveVerdict", "Communicator"]),
    ("evidence", &["Evidence", "Crash"]),
    ("diagnosis", &["Document", "Finding", "ShownDiagnosis"]),
    (
        "plugins",
        &["Plugins", "Pages", "Previews", "PreviewChanges", "RenewalStatus"],
    ),
    ("search", &["Found", "Causes", "CausePage"]),
];
/// Where what several rooms use is.
const SHARED: &str = "shared";
/// Where everything else is: what requests and answers are made of.
const OTHERS: &str = "requests";

/// The definitions by room, in the order in which they came.
pub(super) fn by_room(definitions: &[Definition]) -> BTreeMap<&'static str, Vec<&Definition>> {
    let uses: BTreeMap<&str, Vec<String>> = definitions
        .iter()
        .map(|definition| (definition.name.as_str(), names_used(&definition.shape)))
        .collect();
    let mut rooms_of: BTreeMap<&str, BTreeSet<&'static str>> = BTreeMap::new();
    for (room, doors) in DOORS {
        for door in doors {
            enter(door, room, &uses, &mut rooms_of);
        }
    }
    let mut rooms: BTreeMap<&'static str, Vec<&Definition>> = BTreeMap::new();
    for definition in definitions {
        let of = rooms_of.get(definition.name.as_str()).map(Vec::from_iter);
        let room = match of.as_deref() {
            None => OTHERS,
            Some([room]) => room,
            Some(_) => SHARED,
        };
        rooms.entry(room).or_default().push(definition);
    }
    rooms
}

/// Goes through everything that a type uses, up to the doors of other rooms.
fn enter<'a>(
    name: &'a str,
    room: &'static str,
    uses: &'a BTreeMap<&str, Vec<String>>,
    rooms_of: &mut BTreeMap<&'a str, BTreeSet<&'static str>>,
) {
    if room_of_door(name).is_some_and(|other| other != room) || !uses.contains_key(name) {
        return;
    }
    if rooms_of.entry(name).or_default().insert(room) {
        for used in &uses[name] {
            enter(used, room, uses, rooms_of);
        }
    }
}

fn room_of_door(name: &str) -> Option<&'static str> {
    let room = DOORS.iter().find(|(_, doors)| doors.contains(&name));
    room.map(|(room, _)| *room)
}

/// The names of the types that a type is made of; any JSON is one of them.
pub(super) fn names_used(shape: &Shape) -> Vec<String> {
    match shape {
        Shape::Object { with, fields } => {
            let fields = fields.iter().map(|field| &field.of);
            with.iter().chain(fields).flat_map(names_in).collect()
        }
        Shape::OneMember(fields) => fields.iter().flat_map(|field| names_in(&field.of)).collect(),
        Shape::Tagged { variants, .. } => variants.iter().flat_map(|variant| names_in(&variant.of)).collect(),
        Shape::Alias(of) => names_in(of),
        Shape::Words(_) => Vec::new(),
    }
}

fn names_in(of: &Type) -> Vec<String> {
    match of {
        Type::Named(name) => vec![name.clone()],
        Type::Any => vec!["Json".to_owned()],
        Type::List(of) | Type::Map(of) => names_in(of),
        Type::Tuple(types) | Type::OneOf(types) => types.iter().flat_map(names_in).collect(),
        _ => Vec::new(),
    }
}
