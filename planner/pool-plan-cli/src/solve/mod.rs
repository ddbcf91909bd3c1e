//! `pool-plan solve`: reads, plans with a progress bar, checks, writes, reports. Each step is a module, entered once.

mod memories;
mod problem;
mod read;
mod report;
mod svg;
mod watch;
mod write;

use std::io;
use std::process::ExitCode;
use std::time::Instant;

use pool_plan::{PlanError, error_chain};

use crate::arguments::Solve;
use crate::output;

use read::Contents;

const NO_PLAN: u8 = 1;
const BAD_INPUT: u8 = 2;
/// Buffers of a witness that the message names; `--json` has them all.
const NAMES_SHOWN: usize = 16;

/// Why the command fails.
enum Failure {
    /// There is no plan, or an input or an output file is faulty; with the names of the buffers that prove it.
    Refused { code: u8, message: String, witness: Vec<String> },
    /// The standard output cannot be written.
    Output(io::Error),
}

/// Plans a file.
pub(crate) fn run(arguments: &Solve) -> ExitCode {
    match solve(arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => failure.report(arguments),
    }
}

fn solve(arguments: &Solve) -> Result<(), Failure> {
    write::check(arguments).map_err(Failure::bad)?;
    let name = arguments.file.display().to_string();
    let contents =
        read::read(arguments).map_err(|error| Failure::bad(format!("{name}: {error}")))?;
    let problem = match contents {
        Contents::One(problem) => problem,
        Contents::Several(memories) => return memories.run(arguments, &name),
    };

    let start = Instant::now();
    let plan = watch::solve(arguments, |options, monitor| problem.solve(options, monitor));
    let seconds = start.elapsed().as_secs_f64();
    let plan = plan.map_err(|error| Failure::no_plan(&|index| problem.id(index), &name, &error))?;
    let proved = problem.validate(&plan).map_err(PlanError::Rejected);
    let proved = proved.map_err(|error| Failure::bad(error_chain(&error)))?;
    if proved < plan.certificate.bound {
        return Err(Failure::bad(format!(
            "the witness proves {proved} bytes, not the bound of {}, which is a bug in pool-plan",
            plan.certificate.bound
        )));
    }

    write::write(arguments, &problem, &plan).map_err(Failure::bad)?;
    report::print(&name, &problem, &plan, seconds, arguments.json).map_err(Failure::Output)
}

impl Failure {
    fn bad(message: String) -> Self {
        Self::Refused { code: BAD_INPUT, message, witness: Vec::new() }
    }

    /// Why there is no plan, with the names of a bound's witness.
    fn no_plan<'a>(id: &dyn Fn(usize) -> &'a str, name: &str, error: &PlanError) -> Self {
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

    /// Prints the failure, as JSON too if that was requested, and returns the exit code.
    fn report(&self, arguments: &Solve) -> ExitCode {
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
