//! DWARF expressions in call frame information: PLT stubs and signal trampolines use them.

use gimli::{EndianSlice, EvaluationResult, Expression, LittleEndian, Location, Value};

use crate::costs::{Cap, Costs};
use crate::process::memory::Bytes;
use crate::unwind::registers::FrameRegisters;

/// Steps of one expression; real ones have a dozen.
const MAX_STEPS: u32 = 1000;
/// What an expression costs: it may have all these steps.
const EXPRESSION: u64 = 16 * MAX_STEPS as u64;

/// What an expression may ask for.
pub(crate) struct Place<'a> {
    pub(crate) registers: &'a FrameRegisters,
    pub(crate) memory: &'a dyn Bytes,
    /// What to add to an address of the file to get one of the process.
    pub(crate) bias: u64,
    pub(crate) costs: &'a Costs,
}

/// Evaluates an expression to an address or value. `start` is what is on its stack before (the CFA, for registers).
pub(crate) fn evaluate(bytes: &[u8], encoding: gimli::Encoding, place: &Place<'_>, start: Option<u64>) -> Option<u64> {
    place.costs.spend(EXPRESSION)?;
    evaluate_for(bytes, encoding, place, start)
        .inspect_err(|error| {
            if *error == gimli::Error::TooManyIterations {
                place.costs.caps.hit(Cap::Expression);
            }
        })
        .ok()?
}

fn evaluate_for(
    bytes: &[u8],
    encoding: gimli::Encoding,
    place: &Place<'_>,
    start: Option<u64>,
) -> gimli::Result<Option<u64>> {
    let mut evaluation = Expression(EndianSlice::new(bytes, LittleEndian)).evaluation(encoding);
    evaluation.set_max_iterations(MAX_STEPS);
    if let Some(start) = start {
        evaluation.set_initial_value(start);
    }
    let mut result = evaluation.evaluate()?;
    loop {
        let answer = match result {
            EvaluationResult::Complete => break,
            EvaluationResult::RequiresMemory { address, size, .. } => place.memory.number(address, size.min(8)),
            EvaluationResult::RequiresRegister { register, .. } => value_of(place.registers, register),
            EvaluationResult::RequiresRelocatedAddress(address) => Some(address.wrapping_add(place.bias)),
            _ => None,
        };
        let Some(answer) = answer else { return Ok(None) };
        result = match result {
            EvaluationResult::RequiresMemory { .. } => evaluation.resume_with_memory(Value::Generic(answer))?,
            EvaluationResult::RequiresRegister { .. } => evaluation.resume_with_register(Value::Generic(answer))?,
            _ => evaluation.resume_with_relocated_address(answer)?,
        };
    }
    let location = evaluation.result().first().map(|piece| piece.location);
    Ok(match location {
        Some(Location::Address { address }) => Some(address),
        Some(Location::Value { value }) => value.to_u64(u64::MAX).ok(),
        _ => None,
    })
}

/// x86-64 counts the instruction pointer as register 16: PLT stubs look at it.
fn value_of(registers: &FrameRegisters, register: gimli::Register) -> Option<u64> {
    if register == gimli::X86_64::RA {
        Some(registers.pc)
    } else {
        registers.get(register.0)
    }
}
