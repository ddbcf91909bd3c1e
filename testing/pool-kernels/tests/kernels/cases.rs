//! Random shapes and launches, the same every time; data is drawn from a seed that is part of a
//! case.

use std::cell::RefCell;
use std::fmt::Debug;
use std::ops::RangeInclusive;
use std::panic::{AssertUnwindSafe, catch_unwind};

use cuda_sim_control::Simulator;
use pool_kernels::Launch;
use proptest::prelude::{Just, Strategy, any, prop_oneof};
use proptest::test_runner::{Config, RngAlgorithm, TestCaseError, TestError, TestRng, TestRunner};

/// The number of cases for a property, unless `POOL_KERNEL_CASES` sets it: on the simulator a test
/// then takes at most a second.
const CASES: u32 = 100;

/// The surroundings and contents of a case's arrays.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Setting {
    /// The elements before each array: from 1 on, larger accesses are not aligned to its start.
    pub(crate) before: usize,
    /// The seed of its data.
    pub(crate) seed: u64,
}

/// Checks a property for random cases.
pub(crate) fn for_all<T: Debug>(
    cases: impl Strategy<Value = T>,
    property: impl Fn(&T) -> Result<(), String>,
) {
    let given = std::env::var("POOL_KERNEL_CASES").ok();
    let count = given.and_then(|text| text.parse().ok()).unwrap_or(CASES);
    let config = Config { cases: count, failure_persistence: None, ..Config::default() };
    let random = TestRng::deterministic_rng(RngAlgorithm::ChaCha);
    // A fault of a kernel breaks the context, so all later cases fail, too: the first case is
    // reported beside the smallest.
    let first = RefCell::new(None);
    let tested = TestRunner::new_with_rng(config, random).run(&cases, |case| {
        let outcome = catch_unwind(AssertUnwindSafe(|| property(&case)));
        let outcome = outcome.unwrap_or_else(|_| Err("a call panicked; see above".to_owned()));
        if outcome.is_err() && first.borrow().is_none() {
            *first.borrow_mut() = Some(format!("{case:?}"));
        }
        outcome.map_err(TestCaseError::fail)
    });
    let Err(error) = tested else { return };
    for report in Simulator::attach().map(Simulator::reports).unwrap_or_default() {
        println!("{report}");
    }
    match error {
        TestError::Fail(why, case) => {
            panic!("{why}\nin {case:?}\nat first in {}", first.take().unwrap_or_default())
        }
        TestError::Abort(why) => panic!("{why}"),
    }
}

pub(crate) fn settings() -> impl Strategy<Value = Setting> {
    (0_usize..9, any::<u64>()).prop_map(|(before, seed)| Setting { before, seed })
}

/// Returns lengths: none, one, fewer than a warp, around those of blocks, and any other.
pub(crate) fn lengths() -> impl Strategy<Value = usize> {
    prop_oneof![Just(0_usize), Just(1), 2_usize..33, 250_usize..260, 33_usize..1500]
}

/// Returns lengths for the sides of matrices.
pub(crate) fn sides(longest: usize) -> impl Strategy<Value = usize> {
    prop_oneof![1 => Just(0_usize), 1 => Just(1_usize), 6 => 2..=longest]
}

/// Returns grids and blocks for kernels that support any, and `None` for the crate's own.
pub(crate) fn any_launches() -> impl Strategy<Value = Option<Launch>> {
    prop_oneof![Just(None), line(1..=300, 1)]
}

/// Returns the same for kernels that need blocks of whole warps.
pub(crate) fn warp_launches() -> impl Strategy<Value = Option<Launch>> {
    prop_oneof![Just(None), line(1..=8, 32)]
}

/// Returns two-dimensional grids of these blocks.
pub(crate) fn tile_launches(block: (u32, u32, u32)) -> impl Strategy<Value = Option<Launch>> {
    let grids = (1_u32..4, 1_u32..4).prop_map(|(x, y)| (x, y, 1));
    prop_oneof![Just(None), grids.prop_map(move |grid| Some(Launch { grid, block }))]
}

fn line(threads: RangeInclusive<u32>, times: u32) -> impl Strategy<Value = Option<Launch>> {
    (1_u32..5, threads).prop_map(move |(blocks, threads)| {
        Some(Launch { grid: (blocks, 1, 1), block: (threads * times, 1, 1) })
    })
}

/// Returns numbers of many magnitudes, up to 4.
pub(crate) fn number(random: &mut fastrand::Rng) -> f64 {
    (random.f64() * 2.0 - 1.0) * 2_f64.powi(random.i32(-9..3))
}
