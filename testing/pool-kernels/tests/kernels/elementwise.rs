//! Maps: each element from those at the same place.

use pool_kernels::elementwise::{ADD, AXPY, COPY, EXP, FILL, MODULE, MUL, RELU, SCALE};
use pool_kernels::{Kernels, Launch};
use proptest::prelude::Strategy;

use crate::bounds::{Reference, compare, exponential};
use crate::cases::{Setting, any_launches, for_all, lengths, number, settings};
use crate::element::{Element, for_each_type};
use crate::gpu::Gpu;

#[derive(Clone, Copy, Debug)]
struct Case {
    count: usize,
    launch: Launch,
    setting: Setting,
}

fn cases() -> impl Strategy<Value = Case> {
    (lengths(), any_launches(), settings()).prop_map(|(count, launch, setting)| Case {
        count,
        launch: launch.unwrap_or(Launch::over_elements(count)),
        setting,
    })
}

impl Case {
    /// Returns elements of this type, drawn by a function.
    fn draw<E: Element>(
        &self,
        draw: impl Fn(&mut fastrand::Rng) -> f64,
        which: u64,
    ) -> Vec<E::Stored> {
        let mut random = fastrand::Rng::with_seed(self.setting.seed.wrapping_add(which));
        (0..self.count).map(|_| E::store(draw(&mut random))).collect()
    }

    /// Returns a wide scalar.
    fn scalar<E: Element>(&self) -> E::Wide {
        E::widen(number(&mut fastrand::Rng::with_seed(!self.setting.seed)))
    }
}

#[test]
#[ignore = "needs a CUDA device"]
fn fill() {
    fn check<E: Element>(gpu: &Gpu) {
        let kernel = gpu.kernel(E::name(FILL));
        for_all(cases(), |case| {
            let value = case.scalar::<E>();
            let to = gpu.output::<E::Stored>(case.count, case.setting.before);
            let arguments = [to.argument(), E::scalar(value), case.count.into()];
            gpu.launch(&kernel, case.launch, &arguments);
            let expected = (0..case.count).map(|_| Reference::exact(E::load_wide(value)));
            compare::<E>(&gpu.download(&to)?, expected)
        });
    }
    Gpu::with(MODULE, |gpu| for_each_type!(check(gpu)));
}

#[test]
#[ignore = "needs a CUDA device"]
fn copy() {
    fn check<E: Element>(gpu: &Gpu) {
        let kernel = gpu.kernel(E::name(COPY));
        for_all(cases(), |case| {
            let data = case.draw::<E>(number, 0);
            let from = gpu.upload(&data, case.setting.before);
            // The output begins at another offset than the input.
            let to = gpu.output::<E::Stored>(case.count, case.setting.before / 2);
            let arguments = [from.argument(), to.argument(), case.count.into()];
            gpu.launch(&kernel, case.launch, &arguments);
            let (from, to) = (gpu.download(&from)?, gpu.download(&to)?);
            if from == data && to == data { Ok(()) } else { Err(format!("{}: {to:?}", E::NAME)) }
        });
    }
    Gpu::with(MODULE, |gpu| for_each_type!(check(gpu)));
}

/// One fused operation: one rounding.
#[test]
#[ignore = "needs a CUDA device"]
fn axpy() {
    fn check<E: Element>(gpu: &Gpu) {
        let kernel = gpu.kernel(E::name(AXPY));
        for_all(cases(), |case| {
            let factor = case.scalar::<E>();
            let (x, y) = (case.draw::<E>(number, 0), case.draw::<E>(number, 1));
            let (on_device, to) =
                (gpu.upload(&x, case.setting.before), gpu.upload(&y, case.setting.before));
            let arguments =
                [E::scalar(factor), on_device.argument(), to.argument(), case.count.into()];
            gpu.launch(&kernel, case.launch, &arguments);
            let expected = x.iter().zip(&y).map(|(x, y)| {
                Reference::rounded::<E>(E::load_wide(factor).mul_add(E::load(*x), E::load(*y)))
            });
            compare::<E>(&gpu.download(&to)?, expected)
        });
    }
    Gpu::with(MODULE, |gpu| for_each_type!(check(gpu)));
}

#[test]
#[ignore = "needs a CUDA device"]
fn scale() {
    fn check<E: Element>(gpu: &Gpu) {
        let kernel = gpu.kernel(E::name(SCALE));
        for_all(cases(), |case| {
            let factor = case.scalar::<E>();
            let x = case.draw::<E>(number, 0);
            let on_device = gpu.upload(&x, case.setting.before);
            let arguments = [E::scalar(factor), on_device.argument(), case.count.into()];
            gpu.launch(&kernel, case.launch, &arguments);
            let product = |x: &E::Stored| E::load_wide(factor) * E::load(*x);
            let expected = x.iter().map(|x| Reference::rounded::<E>(product(x)));
            compare::<E>(&gpu.download(&on_device)?, expected)
        });
    }
    Gpu::with(MODULE, |gpu| for_each_type!(check(gpu)));
}

/// Checks a kernel of two arrays whose operation rounds once.
fn check_pairs<E: Element>(gpu: &Gpu, kernels: Kernels, operation: fn(f64, f64) -> f64) {
    let kernel = gpu.kernel(E::name(kernels));
    for_all(cases(), |case| {
        let (x, y) = (case.draw::<E>(number, 0), case.draw::<E>(number, 1));
        let (first, second) =
            (gpu.upload(&x, case.setting.before), gpu.upload(&y, case.setting.before / 2));
        let to = gpu.output::<E::Stored>(case.count, case.setting.before);
        let arguments = [first.argument(), second.argument(), to.argument(), case.count.into()];
        gpu.launch(&kernel, case.launch, &arguments);
        let expected = x
            .iter()
            .zip(&y)
            .map(|(x, y)| Reference::rounded::<E>(operation(E::load(*x), E::load(*y))));
        compare::<E>(&gpu.download(&to)?, expected)
    });
}

#[test]
#[ignore = "needs a CUDA device"]
fn add() {
    Gpu::with(MODULE, |gpu| for_each_type!(check_pairs(gpu, ADD, |x, y| x + y)));
}

#[test]
#[ignore = "needs a CUDA device"]
fn mul() {
    Gpu::with(MODULE, |gpu| for_each_type!(check_pairs(gpu, MUL, |x, y| x * y)));
}

/// Checks a kernel of one array, in place in every other case.
fn check_map<E: Element>(
    gpu: &Gpu,
    kernels: Kernels,
    draw: fn(&mut fastrand::Rng) -> f64,
    reference: fn(f64) -> Reference,
) {
    let kernel = gpu.kernel(E::name(kernels));
    for_all(cases(), |case| {
        let x = case.draw::<E>(draw, 0);
        let from = gpu.upload(&x, case.setting.before);
        let to = gpu.output::<E::Stored>(case.count, case.setting.before / 2);
        let target = if case.setting.seed % 2 == 0 { &from } else { &to };
        let arguments = [from.argument(), target.argument(), case.count.into()];
        gpu.launch(&kernel, case.launch, &arguments);
        compare::<E>(&gpu.download(target)?, x.iter().map(|x| reference(E::load(*x))))
    });
}

/// The range has no overflow, even in 16 bits, and has results so small that they lose bits.
#[test]
#[ignore = "needs a CUDA device"]
fn exp() {
    fn check<E: Element>(gpu: &Gpu) {
        let reference = |x: f64| {
            let value = x.exp();
            Reference { value, error: exponential(E::UNIT) * value }
        };
        check_map::<E>(gpu, EXP, |random| random.f64() * 30.0 - 19.0, reference);
    }
    Gpu::with(MODULE, |gpu| for_each_type!(check(gpu)));
}

#[test]
#[ignore = "needs a CUDA device"]
fn relu() {
    let reference = |x: f64| Reference::exact(x.max(0.0));
    Gpu::with(MODULE, |gpu| for_each_type!(check_map(gpu, RELU, number, reference)));
}

/// Infinities, NaNs, zeros, and results that are too large or too small for their type.
#[test]
#[ignore = "needs a CUDA device"]
fn values_at_the_edges() {
    fn check<E: Element>(gpu: &Gpu) {
        let (infinity, none) = (f64::INFINITY, f64::NAN);
        let run = |kernels, values: &[f64], results: &[f64]| {
            let stored: Vec<E::Stored> = values.iter().map(|value| E::store(*value)).collect();
            let array = gpu.upload(&stored, 1);
            let arguments = [array.argument(), array.argument(), values.len().into()];
            let launch = Launch::over_elements(values.len());
            gpu.launch(&gpu.kernel(E::name(kernels)), launch, &arguments);
            let expected = results.iter().map(|result| Reference::exact(*result));
            compare::<E>(&gpu.download(&array).unwrap(), expected).unwrap();
        };
        let values = [infinity, -infinity, none, 0.0, -0.0, 1000.0, -1000.0];
        run(EXP, &values, &[infinity, 0.0, none, 1.0, 1.0, infinity, 0.0]);
        run(RELU, &values, &[infinity, 0.0, none, 0.0, 0.0, 1000.0, 0.0]);
        run(COPY, &values[..2], &values[..2]);
    }
    Gpu::with(MODULE, |gpu| for_each_type!(check(gpu)));
}
