//! From a frame's registers to its caller's, by a row of call frame information.

use gimli::{CfaRule, RegisterRule};

use crate::costs::Costs;
use crate::process::memory::Bytes;
use crate::unwind::cfi::Row;
use crate::unwind::expression::{self, Place};
use crate::unwind::registers::{Abi, FrameRegisters};

/// The caller's registers, or why there are none.
pub(crate) enum Caller {
    Found(Box<FrameRegisters>),
    /// The rules say that this is the outermost frame.
    Outermost,
    /// The rules need memory that is not there, or registers that are not known.
    Lost,
}

/// Applies the rules of a row. `bias` is what to add to an address of the file to get one of the process. The return
/// address may still carry a pointer-authentication code.
pub(crate) fn caller(
    row: &Row<'_>,
    abi: Abi,
    registers: &FrameRegisters,
    memory: &dyn Bytes,
    bias: u64,
    costs: &Costs,
) -> Caller {
    try_caller(row, abi, registers, memory, bias, costs).unwrap_or(Caller::Lost)
}

fn try_caller(
    row: &Row<'_>,
    abi: Abi,
    registers: &FrameRegisters,
    memory: &dyn Bytes,
    bias: u64,
    costs: &Costs,
) -> Option<Caller> {
    let evaluate = |expression: &gimli::UnwindExpression<usize>, start| {
        let bytes = row
            .section
            .get(expression.offset..expression.offset.checked_add(expression.length)?)?;
        let place = Place {
            registers,
            memory,
            bias,
            costs,
        };
        expression::evaluate(bytes, row.encoding, &place, start)
    };
    let cfa = match row.rules.cfa() {
        CfaRule::RegisterAndOffset { register, offset } => registers.get(register.0)?.wrapping_add_signed(*offset),
        CfaRule::Expression(expression) => evaluate(expression, None)?,
    };
    let recover = |rule: &RegisterRule<usize>, current: Option<u64>| match rule {
        RegisterRule::SameValue => current,
        RegisterRule::Offset(offset) => memory.number(cfa.wrapping_add_signed(*offset), 8),
        RegisterRule::ValOffset(offset) => Some(cfa.wrapping_add_signed(*offset)),
        RegisterRule::Register(other) => registers.get(other.0),
        RegisterRule::Expression(expression) => memory.number(evaluate(expression, Some(cfa))?, 8),
        RegisterRule::ValExpression(expression) => evaluate(expression, Some(cfa)),
        RegisterRule::Constant(value) => Some(*value),
        _ => None,
    };
    let mut caller = *registers;
    caller.set(abi.stack_pointer, Some(cfa));
    let mut return_address = abi.link.and_then(|link| registers.get(link));
    for (register, rule) in row.rules.registers() {
        if *register == row.return_address {
            if matches!(rule, RegisterRule::Undefined) {
                return Some(Caller::Outermost);
            }
            return_address = recover(rule, return_address);
        }
        caller.set(register.0, recover(rule, registers.get(register.0)));
    }
    caller.pc = return_address?;
    Some(Caller::Found(Box::new(caller)))
}
