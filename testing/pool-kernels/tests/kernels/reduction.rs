//! Sums and dot products.
//!
//! A thread adds `⌈count / threads⌉` numbers in sequence. Then its sum passes five shuffles, five
//! more of the sums of warps, and at most one atomic addition for each block. So no number is
//! rounded more often than that, and the error of the sum is at most γ of it times the sum of the
//! absolute values (Higham, section 4.2). The product of a dot product is fused with its addition,
//! and the other lanes' zeros add no rounding.

use pool_kernels::reduction::{DOT, MODULE, SUM};
use pool_kernels::{Kernels, Launch};
use proptest::prelude::Strategy;

use crate::bounds::{Reference, compare_wide, gamma};
use crate::cases::{Setting, for_all, lengths, number, settings, warp_launches};
use crate::element::{Element, for_each_type};
use crate::gpu::{Array, Gpu};

#[derive(Clone, Copy, Debug)]
struct Case {
    count: usize,
    launch: Launch,
    setting: Setting,
}

fn cases() -> impl Strategy<Value = Case> {
    (lengths(), warp_launches(), settings()).prop_map(|(count, launch, setting)| Case {
        count,
        launch: launch.unwrap_or(Launch::over_elements(count)),
        setting,
    })
}

impl Case {
    fn roundings(&self) -> usize {
        let (blocks, threads) = (self.launch.grid.0 as usize, self.launch.block.0 as usize);
        self.count.div_ceil(blocks * threads) + 5 + 5 + blocks
    }
}

/// Runs a kernel over arrays, and compares with the sum of the terms and the initial number.
fn check<E: Element>(gpu: &Gpu, kernels: Kernels, arrays: usize) {
    let kernel = gpu.kernel(E::name(kernels));
    for_all(cases(), |case| {
        let mut random = fastrand::Rng::with_seed(case.setting.seed);
        let before = E::widen(number(&mut random));
        let mut draw =
            || (0..case.count).map(|_| E::store(number(&mut random))).collect::<Vec<E::Stored>>();
        let data: Vec<Vec<E::Stored>> = (0..arrays).map(|_| draw()).collect();
        let inputs: Vec<_> =
            data.iter().map(|data| gpu.upload(data, case.setting.before)).collect();
        let to = gpu.upload(&[before], 1);

        let mut arguments: Vec<_> = inputs.iter().map(Array::argument).collect();
        arguments.extend([to.argument(), case.count.into()]);
        gpu.launch(&kernel, case.launch, &arguments);

        let term = |at| data.iter().map(|data| E::load(data[at])).product::<f64>();
        let terms = || (0..case.count).map(term).chain([E::load_wide(before)]);
        let sizes: f64 = terms().map(f64::abs).sum();
        let error = gamma(case.roundings(), E::UNIT) * sizes;
        // In 64 bits the reference has an error as well, of one rounding a term.
        let of_reference = gamma(case.count + 1, f64::EPSILON / 2.0) * sizes;
        let reference = Reference { value: terms().sum(), error: error + of_reference };
        compare_wide::<E>(gpu.download(&to)?[0], reference)
    });
}

#[test]
#[ignore = "needs a CUDA device"]
fn sum() {
    Gpu::with(MODULE, |gpu| for_each_type!(check(gpu, SUM, 1)));
}

#[test]
#[ignore = "needs a CUDA device"]
fn dot() {
    Gpu::with(MODULE, |gpu| for_each_type!(check(gpu, DOT, 2)));
}
