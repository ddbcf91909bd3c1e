//! The random programs and the cases of slots, over stacks.

use pool_conformance::cases::Ending;
use pool_conformance::programs::{Tally, run_random_dynamic, run_random_lexical, test_cases};

use crate::stacked_probe::StackedProbe;

/// The number of programs from which on every rare case occurs.
const ENOUGH: u64 = 1_000;

#[test]
fn random_lexical_programs_agree_with_the_model() {
    let tally = run_random_lexical(test_cases(), StackedProbe::default);
    assert_nothing_missed(tally, &["stale handles"]);
}

#[test]
fn random_dynamic_programs_agree_with_the_model() {
    let tally = run_random_dynamic(test_cases(), StackedProbe::default);
    assert_nothing_missed(tally, &[]);
}

/// Programs that never meet a full chunk or a refused block would show nothing about them.
fn assert_nothing_missed(tally: Tally, impossible: &[&str]) {
    if tally.programs >= ENOUGH {
        assert_eq!(tally.missing(), impossible, "{tally:?}");
        assert_eq!(tally.host.missing(), [""; 0], "{tally:?}");
    }
}

/// Cases that take Miri longer than all other cases. Miri runs them on the blocks of pool-cpu. The
/// backend orders work, and a stack has no slots, so these cases run no code of stacks that the
/// other cases leave out.
const LONG_UNDER_MIRI: [&str; 16] = [
    "every form orders an armed block once, before the first write",
    "the byte limit holds, and idle blocks make room",
    "a slot keeps its order through many types and scopes",
    "an upload reaches the last of a mebibyte",
    "a fill reaches the last of a mebibyte",
    "zeroing reaches the last of a mebibyte",
    "an upload has left its source when it returns",
    "counters over several slot tables",
    "zeroing comes after the work of former views",
    "a fill comes after the work of former views",
    "an upload comes after the work of former views",
    "elements from the host come after the work of former views",
    "zeroing comes before the work of later views",
    "a fill comes before the work of later views",
    "an upload comes before the work of later views",
    "elements from the host come before the work of later views",
];

#[test]
fn stacks_pass_every_case() {
    let probe = StackedProbe::default();
    let cases = pool_conformance::cases::all();
    let long = cases.iter().filter(|case| LONG_UNDER_MIRI.contains(&case.name())).count();
    assert_eq!(long, LONG_UNDER_MIRI.len(), "a case has another name");
    for case in cases {
        if cfg!(miri) && LONG_UNDER_MIRI.contains(&case.name()) {
            continue;
        }
        match case.run(&probe) {
            Ending::Passed => {}
            Ending::Skipped(why) => println!("SKIPPED: case \"{}\": {why}", case.name()),
            ending => panic!("case {}: {ending:?}", case.name()),
        }
    }
}
