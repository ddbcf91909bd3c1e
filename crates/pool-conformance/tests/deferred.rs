//! The backend whose work runs later passes what every backend passes, and its work does run later.

use pool_conformance::cases::{Ending, NO_HOST_FORMS, all};
use pool_conformance::deferred::Queue;
use pool_conformance::programs::{HostTally, run_random_dynamic, run_random_lexical, test_cases};
use pool_conformance::{DeferredBackend, DeferredProbe, Ledger};
use pool_core::Pool;

/// Runs one of this number of cases: under Miri, where every command of the queue is interpreted
/// and all cases take minutes, a few. Miri runs all cases on the backend of pool-cpu.
const ONE_OF: usize = if cfg!(miri) { 6 } else { 1 };

#[test]
fn deferred_passes_every_case() {
    let probe = DeferredProbe::default();
    for case in all::<DeferredProbe>().into_iter().step_by(ONE_OF) {
        // A queue has no forms of the host: the case that calls them is skipped with this reason.
        let expected = match case.name() {
            "every form orders an armed block once, before the first write" => {
                Ending::Skipped(NO_HOST_FORMS)
            }
            _ => Ending::Passed,
        };
        assert_eq!(case.run(&probe), expected, "case {}", case.name());
    }
}

#[test]
fn random_programs_agree_with_the_model() {
    let programs = test_cases().div_ceil(10);
    let lexical = run_random_lexical(programs, DeferredProbe::default);
    let dynamic = run_random_dynamic(programs, DeferredProbe::default);
    assert_eq!((lexical.programs, dynamic.programs), (programs.into(), programs.into()));
    let none = HostTally::default();
    assert_eq!((lexical.host, dynamic.host), (none, none), "a queue has no forms of the host");
}

#[test]
fn work_waits_until_somebody_does() {
    let mut pool = Pool::<DeferredBackend>::new(Queue::new(Ledger::new()));
    {
        let scope = pool.scope();
        let mut view = scope.acquire_filled(3, 1_u8);
        let before = view.read_later();
        view.write(&[2, 3, 4]);
        assert_eq!(before(), [1, 1, 1]);
        view.write(&[5, 6, 7]);
    }
    assert_eq!(pool.context().waiting(), 1, "nobody waited for the last write");
    pool.context().wait();
    assert_eq!(pool.context().waiting(), 0);
}

#[test]
fn work_elsewhere_comes_last_where_nothing_orders_it() {
    let mut pool = Pool::<DeferredBackend>::new(Queue::new(Ledger::new()));
    let mut scope = pool.scope();
    {
        let inner = scope.scope();
        inner.acquire_filled(2, 1_u8).write_elsewhere(&[8, 9]);
    }
    // The pool orders it.
    let view = scope.acquire::<u8, _>(2);
    assert_eq!(view.read(), [8, 9]);
}
