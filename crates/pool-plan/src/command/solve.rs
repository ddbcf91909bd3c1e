//! `pool-plan solve`: read, plan with a progress bar, check, report.

use std::io::IsTerminal;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use crate::{Monitor, Plan, PlanError, error_chain};
use indicatif::{HumanBytes, HumanCount, ProgressBar, ProgressStyle};

use super::arguments::Solve;
use super::files::Problem;
use super::output::{complain, complain_of_output, say};
use super::{output, report, svg};

const NO_PLAN: u8 = 1;
const BAD_INPUT: u8 = 2;
/// As a shell has it of a process that an interrupt has ended.
const INTERRUPTED: i32 = 130;
/// Buffers of a witness that the message names; `--json` has them all.
const NAMES_SHOWN: usize = 16;

/// Plans a file.
pub(crate) fn run(arguments: &Solve) -> ExitCode {
    let name = arguments.file.display().to_string();
    let others = [arguments.out.as_ref(), Some(&arguments.file)];
    if arguments.svg.is_some() && others.contains(&arguments.svg.as_ref()) {
        let message =
            "--svg names the file of the problem or of --out: the picture would be in its place";
        return refuse(arguments, BAD_INPUT, message);
    }
    let problem = match Problem::read(arguments) {
        Ok(problem) => problem,
        Err(error) => return refuse(arguments, BAD_INPUT, &format!("{name}: {error}")),
    };
    let start = Instant::now();
    let outcome = watched(&problem, arguments);
    let seconds = start.elapsed().as_secs_f64();
    let plan = match outcome {
        Ok(plan) => plan,
        Err(error) => return no_plan(arguments, &problem, &name, &error),
    };
    if let Err(violation) = problem.validate(&plan.offsets) {
        return refuse(arguments, BAD_INPUT, &error_chain(&PlanError::Rejected(violation)));
    }
    let written = arguments.out.as_ref().map_or(Ok(()), |path| problem.write(&plan, path));
    let drawn = arguments.svg.as_ref().map_or(Ok(()), |path| svg::write(&problem, &plan, path));
    if let Err(error) = written.and(drawn) {
        return refuse(arguments, BAD_INPUT, &error);
    }
    let printed = if arguments.json {
        let report = report::Report::new(&name, &problem, &plan, seconds);
        report.write(std::io::stdout().lock())
    } else {
        let table = report::table(&name, &problem, &plan, seconds).to_string();
        let lines = std::iter::once(table).chain(report::untried(&plan));
        say(&lines.collect::<Vec<_>>().join("\n"))
    };
    if let Err(error) = printed {
        complain_of_output(&error);
        return ExitCode::from(BAD_INPUT);
    }
    ExitCode::SUCCESS
}

/// Says why there is no plan, with the names of a bound's witness.
fn no_plan(arguments: &Solve, problem: &Problem, name: &str, error: &PlanError) -> ExitCode {
    let mut message = format!("{name}: {}", error_chain(error));
    let (code, witness) = match error {
        PlanError::Infeasible { witness, .. } => (NO_PLAN, witness.as_slice()),
        PlanError::NotFound { .. } | PlanError::ProvedInfeasible { .. } => (NO_PLAN, &[][..]),
        _ => (BAD_INPUT, &[][..]),
    };
    let ids: Vec<&str> = witness.iter().map(|&index| problem.id(index)).collect();
    let (shown, others) = ids.split_at(ids.len().min(NAMES_SHOWN));
    if !shown.is_empty() {
        message = format!("{message}: {}", shown.join(" "));
    }
    if !others.is_empty() {
        message = format!("{message} and {} others", others.len());
    }
    refuse_naming(arguments, code, &message, &ids)
}

fn refuse(arguments: &Solve, code: u8, message: &str) -> ExitCode {
    refuse_naming(arguments, code, message, &[])
}

fn refuse_naming(arguments: &Solve, code: u8, message: &str, witness: &[&str]) -> ExitCode {
    let object = arguments.json.then(|| report::error(message, witness));
    output::refuse(object.as_ref(), message);
    ExitCode::from(code)
}

/// Plans, and stops with the best plan so far on Ctrl-C. A second one ends the command.
fn watched(problem: &Problem, arguments: &Solve) -> Result<Plan, PlanError> {
    let monitor = Arc::new(Monitor::new());
    let stopper = Arc::clone(&monitor);
    let stop = move || {
        if stopper.is_cancelled() {
            std::process::exit(INTERRUPTED);
        }
        stopper.cancel();
    };
    if let Err(error) = ctrlc::set_handler(stop) {
        complain(&format!("warning: Ctrl-C will not return the best plan so far: {error}"));
    }
    let outcome = shown(problem, arguments, &monitor);
    // From here on Ctrl-C ends the command.
    monitor.cancel();
    outcome
}

/// Plans, and shows how it goes on a terminal.
fn shown(problem: &Problem, arguments: &Solve, monitor: &Monitor) -> Result<Plan, PlanError> {
    let options = arguments.options();
    if !std::io::stderr().is_terminal() {
        return problem.solve(&options, monitor);
    }
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        // Without a thread there is no bar.
        let bar = || show(monitor, arguments.budget, &done);
        drop(std::thread::Builder::new().spawn_scoped(scope, bar));
        let outcome = problem.solve(&options, monitor);
        done.store(true, Ordering::Release);
        outcome
    })
}

fn show(monitor: &Monitor, budget: Duration, done: &AtomicBool) {
    let length = u64::try_from(budget.as_millis()).unwrap_or(u64::MAX);
    let bar = ProgressBar::new(length);
    if let Ok(style) = ProgressStyle::with_template("{wide_bar} {elapsed} {msg}") {
        bar.set_style(style);
    }
    let start = Instant::now();
    while !done.load(Ordering::Acquire) {
        let passed = u64::try_from(start.elapsed().as_millis()).unwrap_or(u64::MAX);
        bar.set_position(passed.min(length));
        let best = monitor.best().map_or_else(String::new, |peak| HumanBytes(peak).to_string());
        let bound = HumanBytes(monitor.bound());
        bar.set_message(format!(
            "peak {best}, bound {bound}, {} steps",
            HumanCount(monitor.steps())
        ));
        std::thread::sleep(Duration::from_millis(50));
    }
    bar.finish_and_clear();
}
