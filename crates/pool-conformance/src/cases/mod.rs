//! The acceptance cases, which every backend must pass. Each case is a function whose argument is a
//! new pool. If a test makes allocations fail, the function may return early with an error from the
//! pool.

mod blocks;
mod case;
mod constants;
mod counters;
mod dynamic;
mod elsewhere;
mod initial_content;
mod leaving;
mod lengths;
mod order;
mod refusals;
mod release;
mod retiring;
mod shapes;
mod sizes;
mod steady;
mod views;
mod world;

use crate::probe::BackendProbe;
pub(crate) use case::AFTERWARDS;
pub use case::{Case, Ending};
pub use elsewhere::NO_HOST_FORMS;

/// Runs every case. If the probe does not support a case, the function prints `SKIPPED` with the
/// case's name and the reason.
///
/// # Panics
///
/// Panics if a check fails. The message contains the case's name.
pub fn run_all<P: BackendProbe>(probe: &P) {
    for case in all::<P>() {
        match case.run(probe) {
            Ending::Passed => {}
            Ending::Skipped(why) => println!("SKIPPED: case \"{}\": {why}", case.name()),
            ending => panic!("case {}: {ending:?}", case.name()),
        }
    }
}

/// Returns every acceptance case.
#[must_use]
pub fn all<P: BackendProbe>() -> Vec<Case<P>> {
    let groups = [
        blocks::cases(),
        views::cases(),
        order::cases(),
        retiring::cases(),
        elsewhere::cases(),
        shapes::cases(),
        refusals::cases(),
        counters::cases(),
        leaving::cases(),
        sizes::cases(),
        release::cases(),
        steady::cases(),
        dynamic::cases(),
        lengths::cases(),
        constants::cases(),
    ];
    groups.into_iter().flatten().collect()
}
