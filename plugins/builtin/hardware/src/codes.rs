//! What each Xid means, as far as it decides what to do: whose fault it can be, and what NVIDIA's catalogue says to do
//! at once (<https://docs.nvidia.com/deploy/xid-errors/analyzing-xid-catalog.html>).

/// Whose fault an Xid can be, the gravest first: of several on one GPU the first kind in this order explains the
/// others.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Blame {
    /// The GPU, its board or its place in the machine.
    Device,
    /// A link between GPUs, or its other end.
    Link,
    /// A program can cause it, and mostly does.
    Program,
    /// The GPU did not come to an end with its work in time: what it was given, or the GPU.
    Stuck,
    /// Nothing that ends a program.
    Note,
    /// The driver cleans up after a program that ended.
    Echo,
}

/// What NVIDIA says to do at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// `RESTART_APP`
    RestartProgram,
    /// `RESET_GPU`
    ResetGpu,
    /// `RESTART_BM`
    RestartNode,
    /// `WORKFLOW_NVLINK_ERR`, `WORKFLOW_NVLINK5_ERR`
    CheckLinks,
    /// `CHECK_MECHANICALS`
    CheckMechanics,
    /// `IGNORE`
    Nothing,
    /// `CONTACT_SUPPORT`, and what the catalogue has no class for.
    Ask,
}

/// An Xid and what it means.
#[derive(Clone, Copy, Debug)]
pub struct Code {
    /// The page that answers for it.
    pub cause: &'static str,
    pub blame: Blame,
    pub action: Action,
    /// What happened, after "The driver logged Xid 48 for the GPU at …: ".
    pub what: &'static str,
    pub confidence: f64,
}

/// The page of Xids that have none of their own.
pub const OTHER: &str = "hw-xid-other";

/// The page of Xids that only tell of the end of a program.
pub const ECHO: &str = "hw-sympathetic";

/// What an Xid means.
#[expect(clippy::too_many_lines, reason = "it is a table: an entry for each kind")]
pub fn of(number: u32) -> Code {
    use Action::{Ask, CheckLinks, CheckMechanics, Nothing, ResetGpu, RestartNode, RestartProgram};
    use Blame::{Device, Echo, Link, Note, Program, Stuck};
    let code = |cause, blame, action, confidence, what| Code {
        cause,
        blame,
        action,
        what,
        confidence,
    };
    match number {
        13 => code(
            "hw-sm-exception",
            Program,
            RestartProgram,
            0.69,
            "a program's kernel raised an exception inside the processor",
        ),
        31 => code(
            "hw-mmu-fault",
            Program,
            RestartProgram,
            0.71,
            "a program used an address that is not mapped",
        ),
        43 | 45 => code(
            ECHO,
            Echo,
            Nothing,
            0.71,
            "it cleaned up after a program that stopped or was stopped",
        ),
        48 | 171 | 172 => code(
            "hw-ecc-dbe",
            Device,
            ResetGpu,
            0.94,
            "its memory lost data that error correction could not restore",
        ),
        62 | 143 => code(
            "hw-init-failed",
            Device,
            ResetGpu,
            0.86,
            "a controller of the GPU stopped or did not start",
        ),
        63 => code(
            "hw-row-remap",
            Note,
            Nothing,
            0.46,
            "a faulty row of its memory will be replaced at the next reset",
        ),
        64 => code(
            "hw-row-remap",
            Device,
            ResetGpu,
            0.86,
            "a faulty row of its memory could not be set aside",
        ),
        74 | 144..=150 => code("hw-nvlink", Link, CheckLinks, 0.89, "a link between GPUs failed"),
        79 => code(
            "hw-fell-off-bus",
            Device,
            RestartNode,
            0.96,
            "the GPU does not answer on the bus any more",
        ),
        94 => code(
            "hw-ecc-contained",
            Device,
            RestartProgram,
            0.91,
            "its memory lost data, and only the program that used it was ended",
        ),
        95 | 140 => code(
            "hw-ecc-dbe",
            Device,
            ResetGpu,
            0.94,
            "its memory lost data, and nothing could contain that",
        ),
        109 => code(
            "hw-ctxsw-timeout",
            Stuck,
            ResetGpu,
            0.76,
            "the GPU could not be taken away from what it was doing",
        ),
        119 | 120 => code(
            "hw-gsp-timeout",
            Device,
            ResetGpu,
            0.91,
            "the GPU's own management processor (GSP) does not answer",
        ),
        121 => code(
            "hw-c2c",
            Note,
            Nothing,
            0.81,
            "the link between processor and GPU had an error",
        ),
        8 | 11 | 25 | 32 | 39..=41 | 60 | 68..=72 | 75..=77 | 80 | 82..=86 | 88 | 89 | 96..=105 | 126..=135 | 139 => {
            code(OTHER, Program, RestartProgram, 0.6, "a program's work on it failed")
        }
        46 | 110 | 136 | 155 | 156 | 158 => code(OTHER, Device, ResetGpu, 0.7, "the GPU stopped and has to be reset"),
        54 => code(
            OTHER,
            Device,
            CheckMechanics,
            0.7,
            "its extra power is not connected, or not enough",
        ),
        14 | 37 | 38 | 44 | 66 | 67 | 92 | 93 | 106 | 107 | 137 | 141 | 152..=154 | 157 | 160 | 161 => code(
            OTHER,
            Note,
            Nothing,
            0.4,
            "it recorded something that by itself ends no program",
        ),
        _ => code(
            OTHER,
            Device,
            Ask,
            0.6,
            "something failed that has no documented meaning here",
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::{Action, Blame, of};

    #[test]
    fn codes_that_a_program_can_cause_never_ask_for_a_reset() {
        for number in 0..200 {
            let code = of(number);
            assert!(
                code.blame != Blame::Program || code.action == Action::RestartProgram,
                "{number}"
            );
            assert!(
                (0.0..=1.0).contains(&code.confidence) && !code.what.is_empty(),
                "{number}"
            );
        }
    }
}
