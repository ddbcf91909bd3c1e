//! The random programs of slots, over stacks.

use pool_conformance::programs::{run_random_dynamic, run_random_lexical, test_cases};
use pool_conformance::{HeapBackend, Ledger, Probe, SkipReason, slice_access};
use pool_core::Stacked;

/// The probe of stacked heap memory.
#[derive(Clone, Debug, Default)]
struct StackedProbe {
    ledger: Ledger,
}

impl Probe for StackedProbe {
    type Backend = Stacked<HeapBackend>;

    fn context(&self) -> Ledger {
        self.ledger.clone()
    }

    slice_access!();

    fn accounting(&self) -> Result<&Ledger, SkipReason> {
        Ok(&self.ledger)
    }

    fn refusal(&self) -> Result<&Ledger, SkipReason> {
        Ok(&self.ledger)
    }
}

#[test]
fn random_lexical_programs_agree_with_the_model() {
    let tally = run_random_lexical(test_cases(), StackedProbe::default);
    println!("{tally:?}");
}

#[test]
fn random_dynamic_programs_agree_with_the_model() {
    let tally = run_random_dynamic(test_cases(), StackedProbe::default);
    println!("{tally:?}");
}

#[test]
fn stacks_pass_every_case() {
    pool_conformance::run_all(&StackedProbe::default());
}
