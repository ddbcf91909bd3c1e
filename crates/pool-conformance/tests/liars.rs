//! Every backend that is wrong on purpose is caught, by a case that is named here, in the table that
//! `cargo test -p pool-conformance --test liars -- --nocapture` prints.

use pool_conformance::liars::run_liars;

#[test]
#[cfg_attr(miri, ignore = "SKIPPED: Miri runs the cases on honest backends")]
fn every_liar_is_caught() {
    let (mut liars, mut survivors) = (0, Vec::new());
    run_liars(|liar| {
        println!("{liar}");
        liars += 1;
        if liar.caught_by.is_none() {
            survivors.push(liar.to_string());
        }
    });
    assert!(survivors.is_empty() && liars >= 60, "{liars} liars; these survive: {survivors:#?}");
}
