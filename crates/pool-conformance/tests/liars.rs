//! Every faulty backend is caught, by a case that is named here, in the table that
//! `cargo test -p pool-conformance --test liars -- --nocapture` prints.

use pool_conformance::liars::{Lie, run_liars};

/// The lies of views, each with the case that is meant to catch it.
const OF_VIEWS: [(Lie, &str); 9] = [
    (Lie::PartsLate, "parts of a view are where they should be"),
    (Lie::SplitsAnywhere, "parts of a view are where they should be"),
    (Lie::LendsStart, "a view is lent, in whole and in parts"),
    (Lie::CopiesShort, "what a view is given stays within it"),
    (Lie::ViewsFillEarly, "what a view is given stays within it"),
    (Lie::CopiesWhenRead, "a copy has what its source held when it was asked for"),
    (Lie::CopiesAcrossEarly, "a copy from another pool has what its source held"),
    (Lie::CopiesAnyLength, "copies of other lengths are refused, and change nothing"),
    (Lie::ViewsReadEarly, "a read gives what was enqueued before"),
];

#[test]
#[cfg_attr(miri, ignore = "SKIPPED: Miri runs the cases on honest backends")]
fn every_liar_is_caught() {
    let (mut liars, mut missed) = (0, Vec::new());
    run_liars(|liar| {
        println!("{liar}");
        liars += 1;
        let expected = OF_VIEWS.iter().find(|(lie, _)| *lie == liar.lie).map(|(_, case)| *case);
        if liar.caught_by.is_none() || expected.is_some_and(|case| liar.caught_by != Some(case)) {
            missed.push(liar.to_string());
        }
    });
    assert!(
        missed.is_empty() && liars >= 75,
        "{liars} liars; not caught as they should be: {missed:#?}"
    );
}
