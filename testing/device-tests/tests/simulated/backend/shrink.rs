//! Runs random programs until they have executed enough steps. If a program fails, it is shrunk:
//! each attempt leaves out steps and runs in its own process, until every remaining step is needed
//! for the same failure. The result is printed with the command that repeats it.

use std::env;
use std::fmt::{self, Debug, Display, Formatter};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::process::{self, Command};
use std::thread;
use std::time::Duration;

use cuda_sim_control::Settings;

/// The variable with the minimum number of steps, which is [`STEPS`] by default.
const STEPS_VARIABLE: &str = "POOL_ATTACK_STEPS";
const STEPS: usize = 10_000;

/// The variable with the only program to run, in the format of [`Chosen`].
const PROGRAM_VARIABLE: &str = "POOL_ATTACK_PROGRAM";

/// The time limit of a shrunk program, which may wait for a step that has been left out.
const PATIENCE: Duration = Duration::from_secs(60);

/// The number of programs and steps that a run has executed.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Taken {
    pub(crate) programs: usize,
    pub(crate) steps: usize,
}

/// A selection of a program's steps.
struct Chosen {
    number: u64,
    steps: Vec<usize>,
}

/// Returns the first seed of a program. Consecutive runs use different seeds.
pub(crate) fn seed(number: u64) -> u64 {
    Settings::default().seed.wrapping_mul(1_000_003).wrapping_add(number)
}

/// Runs programs. Each is created from its number, and consists of constant parameters and steps. A
/// failing program panics with a message that starts with the kind of mistake, followed by a colon.
pub(crate) fn run_programs<P: Debug, S: Clone + Debug>(
    program: impl Fn(u64) -> (P, Vec<S>),
    mut run: impl FnMut(u64, &P, &[S]),
) -> Taken {
    if let Ok(chosen) = env::var(PROGRAM_VARIABLE) {
        let chosen = Chosen::parse(&chosen).unwrap();
        let (setup, steps) = program(chosen.number);
        let steps = chosen.of(&steps);
        // This thread ends the process if the program hangs.
        thread::spawn(|| {
            thread::sleep(PATIENCE);
            process::exit(1);
        });
        run(chosen.number, &setup, &steps);
        return Taken { programs: 1, steps: steps.len() };
    }
    let wanted = env::var(STEPS_VARIABLE).ok();
    let wanted = wanted.map_or(STEPS, |wanted| wanted.parse().unwrap());
    let mut taken = Taken::default();
    for number in 0.. {
        let (setup, steps) = program(number);
        taken.programs += 1;
        taken.steps += steps.len();
        if let Err(panic) = catch_unwind(AssertUnwindSafe(|| run(number, &setup, &steps))) {
            println!("found after {} steps", taken.steps);
            print_shrunk(number, &setup, &steps);
            resume_unwind(panic);
        }
        if taken.steps >= wanted {
            break;
        }
    }
    taken
}

fn print_shrunk<P: Debug, S: Debug>(number: u64, setup: &P, steps: &[S]) {
    let of = |steps: &[usize]| Chosen { number, steps: steps.to_vec() };
    let all: Vec<usize> = (0..steps.len()).collect();
    let Some(failure) = of(&all).failure() else {
        println!("program {number} fails only after the earlier ones: {setup:?} {steps:#?}");
        return;
    };
    let left = shrunk(all, |fewer| of(fewer).failure().as_ref() == Some(&failure));
    println!("program {number}: {failure}: {} of its {} steps do it:", left.len(), steps.len());
    println!("    {setup:?}");
    left.iter().for_each(|step| println!("    {step}: {:?}", steps[*step]));
    let run = Settings::default().seed;
    println!("again: {PROGRAM_VARIABLE}='{}', and --first-seed {run}", of(&left));
}

/// Returns a subset of the steps that still fails, and in which every step is needed.
fn shrunk(mut steps: Vec<usize>, mut fails: impl FnMut(&[usize]) -> bool) -> Vec<usize> {
    let mut size = (steps.len() / 2).max(1);
    loop {
        let before = steps.len();
        let mut from = 0;
        while from < steps.len() {
            let mut fewer = steps.clone();
            fewer.drain(from..(from + size).min(steps.len()));
            match fails(&fewer) {
                true => steps = fewer,
                false => from += size,
            }
        }
        if size == 1 && steps.len() == before {
            return steps;
        }
        size = (size / 2).max(1);
    }
}

impl Display for Taken {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{} programs, {} steps", self.programs, self.steps)
    }
}

impl Chosen {
    fn parse(text: &str) -> Option<Self> {
        let (number, steps) = text.split_once(':')?;
        let steps = steps.split_whitespace().map(|step| step.parse().ok()).collect::<Option<_>>();
        Some(Self { number: number.trim().parse().ok()?, steps: steps? })
    }

    fn of<S: Clone>(&self, steps: &[S]) -> Vec<S> {
        self.steps.iter().map(|step| steps[*step].clone()).collect()
    }

    /// Returns the failure of these steps in a separate process, if they fail.
    fn failure(&self) -> Option<String> {
        let mut again = Command::new(env::current_exe().unwrap());
        again.args(env::args_os().skip(1)).env(PROGRAM_VARIABLE, self.to_string());
        let ended = again.output().unwrap();
        let failed = !ended.status.success();
        failed.then(|| first_panic(&String::from_utf8_lossy(&ended.stderr)))
    }
}

impl Display for Chosen {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{}:", self.number)?;
        self.steps.iter().try_for_each(|step| write!(f, " {step}"))
    }
}

/// Returns the location and the kind of the first panic, or an empty string if the process did not
/// panic.
fn first_panic(printed: &str) -> String {
    let Some((_, panic)) = printed.split_once("panicked at ") else { return String::new() };
    let (place, message) = panic.split_once('\n').unwrap_or((panic, ""));
    let message = message.lines().next().unwrap_or_default();
    let sort = message.split_once(": ").map_or(message, |(sort, _)| sort);
    format!("{place} {sort}")
}

#[cfg(test)]
mod tests {
    use super::{Chosen, first_panic, shrunk};

    #[test]
    fn no_step_is_left_without_which_a_program_still_fails() {
        let steps: Vec<usize> = (0..40).collect();
        let needs = |needed: &'static [usize]| {
            move |fewer: &[usize]| needed.iter().all(|step| fewer.contains(step))
        };
        assert_eq!(shrunk(steps.clone(), needs(&[7, 23])), [7, 23]);
        assert_eq!(shrunk(steps.clone(), needs(&[])), [0_usize; 0]);
        assert_eq!(shrunk(steps.clone(), needs(&[39])), [39]);
        // In this test, a step can be left out only after the next step has been left out.
        let in_a_row = |fewer: &[usize]| {
            fewer.first() == Some(&0) && fewer.windows(2).all(|two| two[1] == two[0] + 1)
        };
        assert_eq!(shrunk(steps, in_a_row), [0]);
    }

    #[test]
    fn a_program_is_read_as_it_is_printed() {
        let printed = Chosen { number: 17, steps: vec![0, 3] }.to_string();
        assert_eq!(printed, "17: 0 3");
        let read = Chosen::parse(&printed).unwrap();
        assert_eq!((read.number, read.of(&['a', 'b', 'c', 'd'])), (17, vec!['a', 'd']));
        assert!(Chosen::parse("17").is_none() && Chosen::parse("17: x").is_none());
    }

    #[test]
    fn failures_are_the_same_by_place_and_sort() {
        let race = "thread 'main' panicked at a.rs:1:2:\nrace: one and two\nnote: more";
        assert_eq!(first_panic(race), "a.rs:1:2: race");
        assert_eq!(first_panic("killed"), "");
    }
}
