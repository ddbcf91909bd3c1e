//! Every faulty backend is caught, by a case that is named here, in the table that
//! `cargo test -p pool-conformance --test count -- --nocapture` prints.

use pool_conformance::faulty_backends::{Mistake, run_faulty_backends};

/// The mistakes of views, each with the case that is meant to catch it.
const OF_VIEWS: [(Mistake, &str); 9] = [
    (Mistake::PartsLate, "parts of a view are where they should be"),
    (Mistake::SplitsAnywhere, "parts of a view are where they should be"),
    (Mistake::LendsStart, "a view is lent, in whole and in parts"),
    (Mistake::CopiesShort, "what a view is given stays within it"),
    (Mistake::ViewsFillEarly, "what a view is given stays within it"),
    (Mistake::CopiesWhenRead, "a copy has what its source held when it was asked for"),
    (Mistake::CopiesAcrossEarly, "a copy from another pool has what its source held"),
    (Mistake::CopiesAnyLength, "copies of other lengths are refused, and change nothing"),
    (Mistake::ViewsReadEarly, "a read gives what was enqueued before"),
];

#[test]
#[cfg_attr(miri, ignore = "SKIPPED: Miri runs the cases on honest backends")]
fn every_faulty_backend_is_caught() {
    let (mut count, mut missed) = (0, Vec::new());
    run_faulty_backends(|backend| {
        println!("{backend}");
        count += 1;
        let expected =
            OF_VIEWS.iter().find(|(mistake, _)| *mistake == backend.mistake).map(|(_, case)| *case);
        if backend.caught_by.is_none()
            || expected.is_some_and(|case| backend.caught_by != Some(case))
        {
            missed.push(backend.to_string());
        }
    });
    assert!(
        missed.is_empty() && count >= 75,
        "{count} faulty backends; not caught as they should be: {missed:#?}"
    );
}
