//! Frames that tail calls erased. A function that ends in a call may jump instead, and then it is not on the stack;
//! DWARF lists the calls that every function makes, so the path from a caller to what it reached can be found again.

use std::collections::HashSet;

use crate::costs::Cap;
use crate::dwarf::calls::{CallSite, Calls, Target};
use crate::process::memory::Memory;
use crate::process::modules::LoadedModule;

/// Calls that are followed at most to find a path.
const MAX_VISITS: usize = 4096;
/// Calls of one path at most.
const MAX_PATH: usize = 64;
/// What following one costs: the calls of its function may have to be read.
const VISIT: u64 = 16 << 10;

/// The address after a call, in the process.
type ReturnAddress = u64;

/// The tail calls between a caller (by the return address in it) and the function above it on the stack (by any
/// address in that), innermost first. Where several paths are possible, those calls that all have in common at their
/// ends: the others are not certain.
pub(crate) fn between(memory: Memory<'_>, return_address: ReturnAddress, callee: u64) -> Vec<ReturnAddress> {
    match Search::new(memory, callee).and_then(|search| search.run(return_address)) {
        None => Vec::new(),
        Some(Paths::One(path)) => path.into_iter().rev().collect(),
        Some(Paths::Many { start, end }) => end.into_iter().chain(start.into_iter().rev()).collect(),
    }
}

/// The paths found, as far as they agree.
enum Paths {
    /// One alone.
    One(Vec<ReturnAddress>),
    /// Several: how each starts, and how each ends (backwards).
    Many {
        start: Vec<ReturnAddress>,
        end: Vec<ReturnAddress>,
    },
}

/// Visits every path of tail calls to one function.
struct Search<'a> {
    memory: Memory<'a>,
    /// First address of the function to reach.
    callee: u64,
    path: Vec<ReturnAddress>,
    entered: HashSet<ReturnAddress>,
    paths: Option<Paths>,
    visits: usize,
}

impl<'a> Search<'a> {
    fn new(memory: Memory<'a>, callee: u64) -> Option<Self> {
        let module = memory.modules.at(callee)?;
        let address = module.file_address(callee)?;
        let start = module
            .calls_at(address)
            .map(|calls| calls.start)
            .or_else(|| module.symbol_start(address))?;
        let callee = start.wrapping_add(module.bias()?);
        Some(Self {
            memory,
            callee,
            path: Vec::new(),
            entered: HashSet::new(),
            paths: None,
            visits: 0,
        })
    }

    fn run(mut self, caller: ReturnAddress) -> Option<Paths> {
        let module = self.memory.modules.at(caller.checked_sub(1)?)?;
        let bias = module.bias()?;
        let calls = module.calls_at(caller.wrapping_sub(bias).checked_sub(1)?)?;
        let site = calls
            .sites
            .iter()
            .find(|site| site.return_address.wrapping_add(bias) == caller)?;
        let target = target_of(module, site)?;
        self.follow(target)?;
        self.paths
    }

    /// Follows the tail calls of the function at an address. Nothing when one goes where only a register knew: then
    /// no path is certain to be the one.
    fn follow(&mut self, function: u64) -> Option<()> {
        if function == self.callee {
            self.reached();
            return Some(());
        }
        self.visits += 1;
        if self.visits > MAX_VISITS || self.path.len() > MAX_PATH {
            self.memory.costs.caps.hit(Cap::TailCalls);
            return None;
        }
        self.memory.costs.spend(VISIT)?;
        let module = self.memory.modules.at(function)?;
        let bias = module.bias()?;
        let calls = module.calls_at(function.wrapping_sub(bias))?;
        if calls.start != function.wrapping_sub(bias) {
            return None;
        }
        for site in tail_calls(&calls) {
            let address = site.return_address.wrapping_add(bias);
            if self.entered.insert(address) {
                self.path.push(address);
                self.follow(target_of(module, site)?)?;
                self.path.pop();
                self.entered.remove(&address);
            }
        }
        Some(())
    }

    fn reached(&mut self) {
        let path = || self.path.iter().copied();
        self.paths = Some(match self.paths.take() {
            None => Paths::One(self.path.clone()),
            Some(Paths::One(known)) => Paths::Many {
                start: common(known.iter().copied(), path()),
                end: common(known.iter().rev().copied(), path().rev()),
            },
            Some(Paths::Many { start, end }) => Paths::Many {
                start: common(start.into_iter(), path()),
                end: common(end.into_iter(), path().rev()),
            },
        });
    }
}

/// The tail calls of a function whose list of them is complete.
fn tail_calls(calls: &Calls) -> impl Iterator<Item = &CallSite> {
    calls.sites.iter().filter(|site| calls.complete && site.is_tail)
}

/// The function that a call of a module goes to, as an address of the process. A name is looked up in the module
/// itself: jumps to another go through its procedure linkage table, and are rarely tail calls.
fn target_of(module: &LoadedModule, site: &CallSite) -> Option<u64> {
    let address = match site.target.as_ref()? {
        Target::Address(address) => *address,
        Target::Name(name) => module.address_of(name)?,
    };
    Some(address.wrapping_add(module.bias()?))
}

fn common(a: impl Iterator<Item = u64>, b: impl Iterator<Item = u64>) -> Vec<u64> {
    a.zip(b).take_while(|(a, b)| a == b).map(|(a, _)| a).collect()
}
