//! Runs steps. The commands of a step run one after the other with a log. Steps are grouped into
//! lanes, and each core runs one lane at a time.

use std::io;
use std::num::NonZero;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::Instant;

use super::invocation::{Counting, Invocation};
use super::report::{self, Outcome};
use super::step::{Setting, Step};
use crate::tally::Tally;

/// Runs steps in lanes, and returns their outcomes, ordered by lane. Each core runs the next lane
/// that has not started. With `fail_fast`, no step starts after a step has failed.
///
/// # Errors
///
/// Fails if a log cannot be written or if cargo cannot be started.
pub(super) fn run<S: Setting>(
    steps: &[Step<S>],
    fail_fast: bool,
    setting: &S,
    logs: &Path,
) -> io::Result<Vec<Outcome>> {
    let cores = thread::available_parallelism().map_or(1, NonZero::get);
    let stopped = AtomicBool::new(false);
    let run_lane = |lane: &Vec<Step<S>>| {
        let mut outcomes = Vec::with_capacity(lane.len());
        for step in lane {
            if stopped.load(Ordering::Relaxed) {
                break;
            }
            let outcome = run_step(step, setting, logs)?;
            stopped.fetch_or(fail_fast && outcome.tally.failed > 0, Ordering::Relaxed);
            outcomes.push(outcome);
        }
        Ok(outcomes)
    };
    Ok(in_order(&lanes(steps), cores, run_lane)?.into_iter().flatten().collect())
}

/// Splits steps into lanes. Steps that share a build directory form one lane in their order, and
/// each other step forms its own lane.
fn lanes<S>(steps: &[Step<S>]) -> Vec<Vec<Step<S>>> {
    let (alone, in_turn): (Vec<Step<S>>, _) = steps.iter().partition(|step| step.side_by_side);
    let in_turn = Some(in_turn).filter(|lane| !lane.is_empty());
    in_turn.into_iter().chain(alone.into_iter().map(|step| vec![step])).collect()
}

/// Calls `work` for each item with this many threads. Returns the results in the order of the
/// items.
///
/// # Errors
///
/// Returns the first error of `work` in that order.
fn in_order<I: Sync, O: Send>(
    items: &[I],
    threads: usize,
    work: impl Fn(&I) -> io::Result<O> + Sync,
) -> io::Result<Vec<O>> {
    let next = AtomicUsize::new(0);
    let work_through = || {
        let turns = std::iter::from_fn(|| {
            let turn = next.fetch_add(1, Ordering::Relaxed);
            items.get(turn).map(|item| (turn, work(item)))
        });
        turns.collect::<Vec<_>>()
    };
    let done: io::Result<Vec<_>> = thread::scope(|scope| {
        let threads = (0..threads.min(items.len())).map(|_| scope.spawn(work_through));
        let threads: Vec<_> = threads.collect();
        let died = |_| io::Error::other("the thread of a step panicked");
        threads.into_iter().map(|thread| thread.join().map_err(died)).collect()
    });
    let mut done: Vec<_> = done?.into_iter().flatten().collect();
    done.sort_by_key(|&(turn, _)| turn);
    done.into_iter().map(|(_, outcome)| outcome).collect()
}

/// Runs all commands of a step.
fn run_step<S: Setting>(step: &Step<S>, setting: &S, logs: &Path) -> io::Result<Outcome> {
    println!("\n== {}: {}", step.name, step.about);
    let start = Instant::now();
    let (tally, note) = match (step.plan)(setting) {
        Ok(commands) => {
            run_commands(&commands, &setting.workspace().root, &fresh_log(logs, step.name)?)?
        }
        Err(reason) => (Tally::of_one_skip(), format!("SKIPPED: {reason}")),
    };
    let outcome = Outcome { name: step.name, time: start.elapsed(), tally, note };
    println!("   {}", report::line(&outcome));
    Ok(outcome)
}

/// Creates an empty log for a step.
fn fresh_log(logs: &Path, step: &str) -> io::Result<PathBuf> {
    let log = logs.join(format!("{step}.log"));
    std::fs::write(&log, "")?;
    Ok(log)
}

/// Runs the commands of a step. Returns their counts, and a note if a command failed.
fn run_commands(commands: &[Invocation], root: &Path, log: &Path) -> io::Result<(Tally, String)> {
    let mut total = Tally::default();
    for command in commands {
        println!("   {command}");
        let (tally, output) = command.run(root, log)?;
        if tally.failed > 0 {
            println!("{}\n   failed: {command}", report::excerpt(&output));
        }
        total = total + tally;
    }
    if total.failed > 0 {
        return Ok((total, format!("see {}", log.display())));
    }
    let counts_tests = commands.iter().any(|command| command.counting() == Counting::Tests);
    if counts_tests && total == Tally::default() {
        let none = Tally::of_one_check(false);
        return Ok((none, "no test ran, so nothing was checked".to_owned()));
    }
    Ok((total, String::new()))
}

#[cfg(test)]
mod tests {
    use super::super::Step;
    use super::{in_order, lanes};
    use std::io;
    use std::sync::Barrier;
    use std::sync::atomic::{AtomicUsize, Ordering};

    #[test]
    fn as_many_at_once_as_there_are_threads_and_results_in_order() {
        let (both, at_once) = (Barrier::new(2), AtomicUsize::new(0));
        let work = |&item: &u32| {
            assert!(at_once.fetch_add(1, Ordering::SeqCst) < 2);
            // The six items must run in three pairs; otherwise this waits forever.
            both.wait();
            at_once.fetch_sub(1, Ordering::SeqCst);
            both.wait();
            Ok(item * 10)
        };
        assert_eq!(in_order(&[5, 3, 4, 1, 2, 0], 2, work).unwrap(), [50, 30, 40, 10, 20, 0]);
    }

    #[test]
    fn steps_that_share_a_build_directory_are_one_lane() {
        let plan = |&(): &()| Ok(Vec::new());
        let steps: [Step<()>; 4] = [
            Step::in_turn("a", "", plan),
            Step::beside("b", "", plan),
            Step::in_turn("c", "", plan),
            Step::beside("d", "", plan),
        ];
        let lanes = lanes(&steps);
        let names: Vec<Vec<&str>> =
            lanes.iter().map(|lane| lane.iter().map(|step| step.name).collect()).collect();
        assert_eq!(names, [vec!["a", "c"], vec!["b"], vec!["d"]]);
    }

    #[test]
    fn what_cannot_be_run_does_not_keep_the_others_from_it() {
        let ran = AtomicUsize::new(0);
        let work = |&item: &u32| {
            ran.fetch_add(1, Ordering::SeqCst);
            if item == 2 { Err(io::Error::other("no cargo")) } else { Ok(item) }
        };
        assert_eq!(in_order(&[1, 2, 3], 1, work).unwrap_err().to_string(), "no cargo");
        assert_eq!(ran.load(Ordering::SeqCst), 3);
        assert!(in_order(&[], 4, work).unwrap().is_empty());
    }
}
