//! DWARF expressions in call frame information: PLT stubs and signal trampolines use them.

use gimli::{EndianSlice, EvaluationResult, Expression, LittleEndian, Location, Value};

use crate::memory::Bytes;
use crate::registers::FrameRegisters;

/// Steps of one expression; real ones have a dozen.
const MAX_STEPS: u32 = 10_000;
/// Questions of one expression.
const MAX_QUESTIONS: usize = 1_000;

/// Evaluates an expression to an address or value. `start` is what is on its stack before (the CFA, for registers).
pub(crate) fn evaluate(
    bytes: &[u8],
    encoding: gimli::Encoding,
    registers: &FrameRegisters,
    memory: &dyn Bytes,
    bias: u64,
    start: Option<u64>,
) -> Option<u64> {
    let mut evaluation = Expression(EndianSlice::new(bytes, LittleEndian)).evaluation(encoding);
    evaluation.set_max_iterations(MAX_STEPS);
    if let Some(start) = start {
        evaluation.set_initial_value(start);
    }
    let mut result = evaluation.evaluate().ok()?;
    for _ in 0..MAX_QUESTIONS {
        result = match result {
            EvaluationResult::Complete => break,
            EvaluationResult::RequiresMemory { address, size, .. } => {
                evaluation.resume_with_memory(Value::Generic(memory.number(address, size.min(8))?))
            }
            EvaluationResult::RequiresRegister { register, .. } => {
                evaluation.resume_with_register(Value::Generic(value_of(registers, register)?))
            }
            EvaluationResult::RequiresRelocatedAddress(address) => {
                evaluation.resume_with_relocated_address(address.wrapping_add(bias))
            }
            _ => return None,
        }
        .ok()?;
    }
    match evaluation.result().first()?.location {
        Location::Address { address } => Some(address),
        Location::Value { value } => value.to_u64(u64::MAX).ok(),
        _ => None,
    }
}

/// x86-64 counts the instruction pointer as register 16: PLT stubs look at it.
fn value_of(registers: &FrameRegisters, register: gimli::Register) -> Option<u64> {
    if register == gimli::X86_64::RA {
        Some(registers.pc)
    } else {
        registers.get(register.0)
    }
}
