//! What streams do wrong on purpose, in the tests that show that the suite of all backends notices it. In other builds
//! there is nothing of it.

use std::cell::Cell;

/// One mistake.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Flaw {
    /// Whole words from the host are written before everything that is recorded.
    UploadsOvertake,
    /// Copies of views outside of passes go before all else of their batch.
    CopiesOvertake,
    /// Zeroes outside of passes go before all else of their batch.
    ZeroesOvertake,
    /// A fill leaves the last word out.
    FillsShort,
    /// A buffer that is given back is kept, and nobody is told.
    Leaks,
}

thread_local! {
    static PLANTED: Cell<Option<Flaw>> = const { Cell::new(None) };
}

/// Whether the streams of this thread make this mistake.
pub(crate) fn is_planted(flaw: Flaw) -> bool {
    PLANTED.get() == Some(flaw)
}

#[path = "../tests/suite/support/mod.rs"]
#[allow(
    dead_code,
    unused_imports,
    unreachable_pub,
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "tests, which share what the suite has"
)]
pub(crate) mod support;

#[allow(clippy::panic, clippy::print_stdout, clippy::unwrap_used, reason = "tests")]
mod tests {
    use pool_conformance::cases::all;
    use pool_conformance::panics::{catch_quietly, text};
    use pool_conformance::programs::strategy::lexical_program;
    use pool_conformance::programs::{run_lexical, runner};
    use proptest::strategy::{Strategy, ValueTree};

    use super::support::{Snapshots, WgpuProbe, own_stream};
    use super::{Flaw, PLANTED};
    use crate::stream::Stream;

    /// Each mistake, with a case that is there for it.
    const CASES: [(Flaw, &str); 5] = [
        (Flaw::UploadsOvertake, "an upload comes after the work of former views"),
        (Flaw::CopiesOvertake, "what a view is given comes after older work, before newer"),
        (Flaw::ZeroesOvertake, "zeroing comes after the work of former views"),
        (Flaw::FillsShort, "a fill reaches the last of a mebibyte"),
        (Flaw::Leaks, "memory is back when trim, compact and clear return"),
    ];

    /// What a case says where a mistake is made; `None` where it passes.
    fn failure(name: &str, flaw: Flaw, probe: &WgpuProbe) -> Option<String> {
        let case = all().into_iter().find(|case| case.name() == name);
        let case = case.unwrap_or_else(|| panic!("no case \"{name}\""));
        PLANTED.set(Some(flaw));
        let ended = catch_quietly(|| case.run(probe));
        PLANTED.set(None);
        ended.err().map(|payload| text(payload.as_ref()).to_owned())
    }

    /// How many of some random programs, which compare what they read when they end, notice a mistake.
    fn noticed(flaw: Flaw, stream: &Stream, programs: usize) -> usize {
        let mut runner = runner(0);
        let snapshots = Snapshots::new(stream.clone());
        let mut notices = || {
            let program = lexical_program(true).new_tree(&mut runner).unwrap().current();
            let probe = WgpuProbe::with_snapshots(stream.clone(), snapshots.clone());
            PLANTED.set(Some(flaw));
            let ended = catch_quietly(|| run_lexical(&probe, &program));
            PLANTED.set(None);
            ended.is_err()
        };
        (0..programs).filter(|_| notices()).count()
    }

    #[test]
    fn random_programs_notice_every_mistake_that_they_can_make() {
        // They copy no views.
        for flaw in [Flaw::UploadsOvertake, Flaw::ZeroesOvertake, Flaw::FillsShort, Flaw::Leaks] {
            let Some((stream, _quiet)) = own_stream(wgpu::Limits::default()) else { return };
            let noticed = noticed(flaw, &stream, 20);
            println!("{flaw:?}: {noticed} of 20 random programs");
            assert!(noticed > 0, "{flaw:?}");
        }
    }

    #[test]
    fn the_suite_names_every_mistake_by_a_case_of_its_own() {
        for (flaw, name) in CASES {
            let Some((stream, _quiet)) = own_stream(wgpu::Limits::default()) else { return };
            let said = failure(name, flaw, &WgpuProbe::new(stream));
            println!("{flaw:?} | {name} | {said:.100?}");
            // Not only by the checks that follow every case.
            let is_named = said.as_ref().is_some_and(|said| !said.contains("afterwards: "));
            assert!(is_named, "{flaw:?}: {said:?}");
        }
    }
}
