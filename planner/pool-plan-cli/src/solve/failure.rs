//! The reasons why `pool-plan solve` fails, and how they are reported.

use std::io;
use std::process::ExitCode;

use pool_plan::{PlanError, error_chain};

use crate::arguments::Solve;
use crate::output;

use super::report;

const NO_PLAN: u8 = 1;
const BAD_INPUT: u8 = 2;
/// The number of buffers of a witness that a message lists. The output of `--json` includes all
/// buffers of the witness.
const NAMES_SHOWN: usize = 16;

/// The reason why the command fails.
pub(super) enum Failure {
    /// There is no plan, or an input or output file is bad. The variant contains the names of the
    /// buffers that prove this.
    Refused { code: u8, message: String, witness: Vec<String> },
    /// The standard output could not be written.
    Output(io::Error),
}

impl Failure {
    pub(super) fn bad(message: String) -> Self {
        Self::Refused { code: BAD_INPUT, message, witness: Vec::new() }
    }

    /// The reason why there is no plan, with the names of the buffers that witness the bound.
    pub(super) fn no_plan<'a>(
        id: &dyn Fn(usize) -> &'a str,
        name: &str,
        error: &PlanError,
    ) -> Self {
        let mut message = format!("{name}: {}", error_chain(error));
        let (code, witness) = match error {
            PlanError::Infeasible { witness, .. } | PlanError::MemoriesTooSmall { witness, .. } => {
                (NO_PLAN, witness.as_slice())
            }
            PlanError::NotFound { .. }
            | PlanError::ProvedInfeasible { .. }
            | PlanError::Unassigned { .. } => (NO_PLAN, &[][..]),
            _ => (BAD_INPUT, &[][..]),
        };
        let ids: Vec<&str> = witness.iter().map(|&index| id(index)).collect();
        let (shown, others) = ids.split_at(ids.len().min(NAMES_SHOWN));
        if !shown.is_empty() {
            message = format!("{message}: {}", shown.join(" "));
        }
        if !others.is_empty() {
            message = format!("{message} and {} others", others.len());
        }
        Self::Refused { code, message, witness: ids.into_iter().map(str::to_owned).collect() }
    }

    /// Prints the error and returns the exit code. If JSON was requested, the error is also printed
    /// as JSON.
    pub(super) fn report(&self, arguments: &Solve) -> ExitCode {
        match self {
            Self::Refused { code, message, witness } => {
                let object = arguments.json.then(|| report::error(message, witness));
                output::refuse(object.as_ref(), message);
                ExitCode::from(*code)
            }
            Self::Output(error) => {
                output::complain_of_output(error);
                ExitCode::from(BAD_INPUT)
            }
        }
    }
}
