//! `pool-plan solve` reads a problem, plans it with a progress bar, and checks, writes and reports
//! the plan. Each of these steps is a separate module.

mod failure;
mod memories;
mod problem;
mod read;
mod report;
mod svg;
mod watch;
mod write;

use std::process::ExitCode;
use std::time::Instant;

use pool_plan::{PlanError, error_chain};

use crate::arguments::Solve;

use failure::Failure;
use read::Contents;

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
            "this is a bug in pool-plan; please report it: the witness proves {proved} bytes, not \
             the bound of {}",
            plan.certificate.bound
        )));
    }

    write::write(arguments, &problem, &plan).map_err(Failure::bad)?;
    report::print(&name, &problem, &plan, seconds, arguments.json).map_err(Failure::Output)
}
