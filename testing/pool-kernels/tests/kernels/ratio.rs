//! Steps of an iteration whose scalars are in device memory: a quotient that rounds once, and a
//! fused operation that rounds once.

use pool_kernels::elementwise::{AXPY_RATIO, MODULE, XPAY_RATIO};
use pool_kernels::{FloatKernels, Launch};
use proptest::prelude::{Strategy, any};

use crate::bounds::{Reference, compare};
use crate::cases::{Setting, any_launches, for_all, lengths, number, settings};
use crate::element::{Float, for_each_float};
use crate::gpu::Gpu;

#[derive(Clone, Copy, Debug)]
struct Case {
    count: usize,
    negative: bool,
    launch: Launch,
    setting: Setting,
}

fn cases() -> impl Strategy<Value = Case> {
    let scalars = (lengths(), any::<bool>());
    (scalars, any_launches(), settings()).prop_map(|((count, negative), launch, setting)| {
        let launch = launch.unwrap_or(Launch::over_elements(count));
        Case { count, negative, launch, setting }
    })
}

/// Checks a kernel that multiplies one of its two arrays, the first or the second, by the quotient.
fn check<E: Float>(gpu: &Gpu, kernels: FloatKernels, of_first: bool) {
    let kernel = gpu.kernel(E::float_name(kernels));
    for_all(cases(), |case| {
        let mut random = fastrand::Rng::with_seed(case.setting.seed);
        // The divisor is not so small that the quotient becomes large.
        let scalars = [E::store(number(&mut random)), E::store(random.f64() + 1.0)];
        let mut draw =
            || (0..case.count).map(|_| E::store(number(&mut random))).collect::<Vec<E::Stored>>();
        let (x, y) = (draw(), draw());
        let sign = if of_first && case.negative { -1.0 } else { 1.0 };

        let numerator = gpu.upload(&scalars[..1], 1);
        let denominator = gpu.upload(&scalars[1..], 2);
        let from = gpu.upload(&x, case.setting.before);
        let to = gpu.upload(&y, case.setting.before / 2);
        let mut arguments = vec![numerator.argument(), denominator.argument()];
        arguments.extend(of_first.then(|| E::scalar(E::widen(sign))));
        arguments.extend([from.argument(), to.argument(), case.count.into()]);
        gpu.launch(&kernel, case.launch, &arguments);

        let factor = sign * E::load(scalars[0]) / E::load(scalars[1]);
        let expected = x.iter().zip(&y).map(|(x, y)| {
            let (x, y) = (E::load(*x), E::load(*y));
            let (times, plus) = if of_first { (x, y) } else { (y, x) };
            let value = factor.mul_add(times, plus);
            let of_factor = E::UNIT * (factor * times).abs();
            Reference { value, error: of_factor + E::UNIT * (value.abs() + of_factor) }
        });
        compare::<E>(&gpu.download(&to)?, expected)
    });
}

#[test]
#[ignore = "needs a CUDA device"]
fn axpy_ratio() {
    Gpu::with(MODULE, |gpu| for_each_float!(check(gpu, AXPY_RATIO, true)));
}

#[test]
#[ignore = "needs a CUDA device"]
fn xpay_ratio() {
    Gpu::with(MODULE, |gpu| for_each_float!(check(gpu, XPAY_RATIO, false)));
}
