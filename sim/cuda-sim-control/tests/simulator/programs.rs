//! Random programs. Correct programs are never reported, and incorrect programs never break the
//! simulator.

use proptest::strategy::Strategy;
use proptest::test_runner::{Config, RngAlgorithm, TestCaseError, TestError, TestRng, TestRunner};

use crate::program::{Action, Waits, program, run};
use crate::support::{start, with_order_of, with_seed};

const PROGRAMS: u32 = 1000;

/// Checks a property for inputs that are the same in each run.
pub(crate) fn for_all<T: std::fmt::Debug>(
    inputs: impl Strategy<Value = T>,
    property: impl Fn(u64, &T) -> Result<(), String>,
) {
    let config = Config { cases: PROGRAMS, failure_persistence: None, ..Config::default() };
    let random = TestRng::deterministic_rng(RngAlgorithm::ChaCha);
    let mut runner = TestRunner::new_with_rng(config, random);
    let count = std::cell::Cell::new(0);
    let tested = runner.run(&inputs, |input| {
        count.set(count.get() + 1);
        property(count.get(), &input).map_err(TestCaseError::fail)
    });
    if let Err(TestError::Fail(why, input)) = tested {
        panic!("{why}\nin {input:#?}");
    }
    println!("{} programs", count.get());
    assert!(count.get() >= PROGRAMS.into());
}

#[test]
#[ignore = "needs a process of its own: cargo xtask sim-test"]
fn correct_programs_are_never_reported() {
    let simulator = start();
    for_all(program(), |seed, actions: &Vec<Action>| {
        with_seed(simulator, seed);
        let ended = run(actions, Waits::All).map_err(|refusal| refusal.to_string())?;
        if ended.seen != ended.expected {
            return Err("the data is wrong".to_owned());
        }
        let reports = simulator.reports();
        reports.first().map_or(Ok(()), |report| Err(report.to_string()))
    });
}

#[test]
#[ignore = "needs a process of its own: cargo xtask sim-test"]
fn a_seed_gives_the_same_trace_twice_for_any_program() {
    let simulator = start();
    for_all(program(), |seed, actions: &Vec<Action>| {
        let trace = |()| {
            with_order_of(simulator, seed);
            run(actions, Waits::None).map_err(|refusal| refusal.to_string())?;
            Ok::<_, String>((simulator.trace(), simulator.reports()))
        };
        let (first, second) = (trace(())?, trace(())?);
        if first == second { Ok(()) } else { Err("two traces".to_owned()) }
    });
}

#[test]
#[ignore = "needs a process of its own: cargo xtask sim-test"]
fn wrong_data_comes_with_a_report() {
    let simulator = start();
    let (wrong, reported) = (std::cell::Cell::new(0), std::cell::Cell::new(0));
    for_all(program(), |seed, actions: &Vec<Action>| {
        with_order_of(simulator, seed);
        let ended = run(actions, Waits::None).map_err(|refusal| refusal.to_string())?;
        let has_reports = !simulator.reports().is_empty();
        reported.set(reported.get() + u32::from(has_reports));
        if ended.seen != ended.expected {
            wrong.set(wrong.get() + 1);
            if !has_reports {
                return Err("wrong data and no report".to_owned());
            }
        }
        Ok(())
    });
    println!("{} programs without order: {} reported", PROGRAMS, reported.get());
    println!("{} with wrong data, each of them reported", wrong.get());
    assert!(wrong.get() > 50 && reported.get() >= wrong.get());
}

#[test]
#[ignore = "needs a process of its own: cargo xtask sim-test"]
fn one_missing_wait_is_reported_where_it_matters() {
    let simulator = start();
    let (wrong, reported) = (std::cell::Cell::new(0), std::cell::Cell::new(0));
    for_all(program(), |seed, actions: &Vec<Action>| {
        let left_out = usize::try_from(seed % 16).map_err(|error| error.to_string())?;
        let (mut is_wrong, mut reports) = (false, Vec::new());
        for order in 0..4 {
            with_order_of(simulator, seed * 4 + order);
            let ended = run(actions, Waits::AllBut(left_out)).map_err(|one| one.to_string())?;
            is_wrong |= ended.seen != ended.expected;
            reports.push(simulator.reports());
        }
        wrong.set(wrong.get() + u32::from(is_wrong));
        reported.set(reported.get() + u32::from(!reports[0].is_empty()));
        if reports.iter().any(|report| *report != reports[0]) {
            return Err("the report depends on the order".to_owned());
        }
        let missed = is_wrong && reports[0].is_empty();
        if missed { Err("wrong data and no report".to_owned()) } else { Ok(()) }
    });
    println!("one wait left out of each: {} reported", reported.get());
    println!("{} with wrong data in one of four orders, each of them reported", wrong.get());
    assert!(wrong.get() > 20 && reported.get() >= wrong.get());
}
