//! The budget is kept, and a stop is obeyed, in any state of the planner.
//!
//! The smallest time of several tries counts: other work on the machine delays some of them, while
//! a loop without checks delays all.

use std::time::{Duration, Instant};

use pool_plan::{Buffer, IntervalProblem, Monitor, Options};

use super::families::{FAMILIES, Random, problem};

/// The time by which a plan may be late. Without optimisation, a pass over an instance is several times slower.
const MOST_LATE: Duration = Duration::from_millis(if cfg!(debug_assertions) { 60 } else { 20 });

/// The number of repetitions of a late stop: other work on the machine delays a plan sometimes,
/// while a loop without checks of the clock delays every try.
const TRIES: u32 = 6;

/// Returns the time that a planner on some threads takes to return after it was stopped, unless it
/// ends before; the smallest of several tries.
fn lateness(problem: &IntervalProblem, budget: Duration, threads: usize) -> Option<Duration> {
    let mut least = None;
    for _ in 0..TRIES {
        let late = stop(problem, budget, threads)?;
        least = Some(least.unwrap_or(late).min(late));
        if least < Some(MOST_LATE / 2) {
            break;
        }
    }
    least
}

fn stop(problem: &IntervalProblem, budget: Duration, threads: usize) -> Option<Duration> {
    let monitor = Monitor::new();
    std::thread::scope(|scope| {
        let planner = scope.spawn(|| {
            let options =
                Options { budget: Duration::from_secs(600), threads, ..Options::default() };
            let plan = problem.solve_watched(&options, &monitor).unwrap();
            (plan, Instant::now())
        });
        // The first plan is always finished.
        while monitor.best().is_none() && !planner.is_finished() {
            std::thread::sleep(Duration::from_micros(200));
        }
        std::thread::sleep(budget);
        let is_running = !planner.is_finished();
        let stopped = Instant::now();
        monitor.cancel();
        let (plan, end) = planner.join().unwrap();
        // The time includes the validator, which only debug builds run.
        assert_eq!(problem.validate(&plan.offsets), Ok(plan.certificate.peak));
        is_running.then(|| end.saturating_duration_since(stopped))
    })
}

/// Many buffers that are live all the time, and many with consecutive lifetimes. Each vertex of an exact search has
/// many candidates, each in very many sections.
fn long_and_short(count: i64) -> IntervalProblem {
    let mut random = Random::new(7);
    let mut size = |most| 1 + random.below(most);
    let long =
        (0..count).map(|id| Buffer::new(format!("l{id}"), id % 7, 3 * count - id % 5, size(9)));
    let mut buffers: Vec<Buffer> = long.collect();
    for id in 0..count {
        let lower = 3 * id;
        buffers.push(Buffer::new(format!("s{id}"), lower, lower + 2 + id % 3, size(90)));
    }
    IntervalProblem::new(buffers).unwrap()
}

/// Random families, sizes and budgets; `POOL_TEST_CASES=100000` tries 2,000 of them.
#[test]
fn a_stop_is_obeyed_within_20_milliseconds() {
    let mut worst = Vec::new();
    for number in 0..u64::from(super::cases()) / 50 {
        let mut random = Random::new(number ^ 0xB0D6);
        let size = 1 << (4 + random.below(10));
        let (problem, what) = if number % 5 == 0 {
            (long_and_short(i64::from(size as u32).min(1_000)), "long and short".to_owned())
        } else {
            let family = FAMILIES[random.below(FAMILIES.len() as u64) as usize];
            (problem(family, size as usize, number), format!("{family:?}"))
        };
        let budget = Duration::from_millis(1 + random.below(60));
        let threads = 1 + random.below(3) as usize;
        if let Some(late) = lateness(&problem, budget, threads) {
            worst.push((late, format!("{what} of {size} after {budget:?} on {threads}")));
        }
    }
    worst.sort();
    let at = |share: f64| worst.get(((worst.len() as f64 - 1.0) * share) as usize);
    println!("{} stops: 99th percentile {:?}, worst {:?}", worst.len(), at(0.99), at(1.0));
    let late = at(1.0).map_or(Duration::ZERO, |one| one.0);
    assert!(late <= MOST_LATE, "late by {late:?}: {:?}", at(1.0));
}

/// Long-lived buffers beside a packing without room, which no search solves soon.
fn long_and_tight(count: usize) -> IntervalProblem {
    let mut buffers = super::held_out::pinwheels(1_000, 60_001).unwrap().buffers().to_vec();
    let lower = buffers.iter().map(|one| one.lower).min().unwrap();
    let upper = buffers.iter().map(|one| one.upper).max().unwrap();
    let mut random = Random::new(7);
    let long = |id: usize| {
        Buffer::new(format!("l{id}"), lower, upper - (id % 5) as i64, 1 + random.below(9))
    };
    buffers.extend((0..count).map(long));
    IntervalProblem::new(buffers).unwrap()
}

/// Problems of the kind on which a budget of 8 seconds once took 25.
#[test]
fn a_stop_is_obeyed_among_long_lived_buffers() {
    for millis in [30, 150, 400] {
        let late = lateness(&long_and_short(850), Duration::from_millis(millis), 1);
        assert!(late.is_none_or(|late| late <= MOST_LATE), "late by {late:?} after {millis} ms");
        let late = lateness(&long_and_tight(850), Duration::from_millis(millis), 1);
        let late = late.expect("no search ends so soon");
        assert!(late <= MOST_LATE, "late by {late:?} after {millis} ms");
    }
}
