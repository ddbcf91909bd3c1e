//! Host pools in WebAssembly: stacks, the pools of a thread, and memory that does not grow.

use core::arch::wasm32::memory_size;

use pool_conformance::programs::{run_random_dynamic, run_random_lexical, test_cases};
use pool_conformance::{
    BackendProbe, Ledger, LedgeredBackend, LedgeredContext, SkipReason, run_all,
};
use pool_core::{Pool, Stacked};
use pool_cpu::Cpu;
use pool_facade::with_pool;

use crate::runner::Test;
use crate::say;

pub(crate) const TESTS: &[Test] = &[
    Test { name: "host::stacks_pass_every_case", run: stacks_pass_every_case },
    Test { name: "host::random_lexical_programs_over_stacks", run: lexical_programs },
    Test { name: "host::random_dynamic_programs_over_stacks", run: dynamic_programs },
    Test { name: "host::a_million_scopes_take_no_memory", run: a_million_scopes },
    Test { name: "host::pools_of_the_thread_are_used_again", run: pools_of_the_thread },
];

/// The probe of stacked host memory.
#[derive(Default)]
struct StackedProbe {
    ledger: Ledger,
}

impl BackendProbe for StackedProbe {
    type Backend = Stacked<LedgeredBackend<Cpu>>;

    fn context(&self) -> LedgeredContext<Cpu> {
        // SAFETY: views of `Cpu` are slices.
        unsafe { LedgeredContext::new((), self.ledger.clone()) }
    }

    pool_conformance::slice_access!();

    fn accounting(&self) -> Result<&Ledger, SkipReason> {
        Ok(&self.ledger)
    }

    fn refusal(&self) -> Result<&Ledger, SkipReason> {
        Ok(&self.ledger)
    }
}

fn stacks_pass_every_case() {
    run_all(&StackedProbe::default());
}

fn lexical_programs() {
    let tally = run_random_lexical(test_cases(), StackedProbe::default);
    say!("{} programs, {} acquires", tally.programs, tally.acquires);
}

fn dynamic_programs() {
    let tally = run_random_dynamic(test_cases(), StackedProbe::default);
    say!("{} programs, {} acquires", tally.programs, tally.acquires);
}

/// Returns the number of pages of 64 KiB that the instance has.
fn pages() -> usize {
    memory_size(0)
}

/// Acquires three arrays in each of a million scopes of every layout, and of the pools of a thread.
fn a_million_scopes() {
    const SCOPES: u32 = 1_000_000;

    let mut slots = Pool::<Cpu>::new(());
    let mut stack = Pool::<Stacked<Cpu>>::new(());
    let mut before = 0;
    let mut sum = 0_u64;
    for round in 0..SCOPES {
        if round == 100 {
            before = pages();
        }
        let scope = slots.scope();
        let (a, b, c) =
            (scope.acquire::<f32, _>(64), scope.acquire::<u8, _>(100), scope.acquire::<f64, _>(33));
        let of_stack = stack.scope();
        let (d, e) = (of_stack.acquire::<f32, _>(64), of_stack.acquire::<u64, _>(100));
        sum += (a.len() + b.len() + c.len() + d.len() + e.len()) as u64;
        with_pool!(|scope| sum += scope.acquire::<u16, _>(10).len() as u64);
    }
    assert_eq!(sum, u64::from(SCOPES) * (64 + 100 + 33 + 64 + 100 + 10));
    say!("{SCOPES} scopes, {} pages before, {} after", before, pages());
    assert_eq!(pages(), before);
}

fn pools_of_the_thread() {
    let address = || with_pool!(|scope| scope.acquire::<u64, _>(100).as_ptr().addr());
    let first = address();
    assert_eq!(address(), first);
    let nested = with_pool!(|outer| {
        let outer = outer.acquire::<u64, _>(100).as_ptr().addr();
        (outer, address())
    });
    assert_eq!(nested.0, first);
    assert_ne!(nested.1, first);
}
