//! The product and the transpose.
//!
//! An element of the product is a chain of `inner` fused additions, each with one rounding; the
//! zeros that pad tiles add no rounding. So its error is at most γ times the product of the
//! absolute values (Higham, section 3.5).

use pool_kernels::Launch;
use pool_kernels::matrix::{MATMUL, MODULE, TRANSPOSE};
use proptest::prelude::Strategy;

use crate::bounds::{Reference, compare, gamma};
use crate::cases::{Setting, for_all, number, settings, sides, tile_launches};
use crate::element::{Element, for_each_type};
use crate::gpu::Gpu;

#[derive(Clone, Copy, Debug)]
struct Product {
    rows: usize,
    columns: usize,
    inner: usize,
    launch: Launch,
    setting: Setting,
}

#[derive(Clone, Copy, Debug)]
struct Matrix {
    rows: usize,
    columns: usize,
    launch: Launch,
    setting: Setting,
}

fn products() -> impl Strategy<Value = Product> {
    let shapes = (sides(40), sides(40), sides(40));
    (shapes, tile_launches((16, 16, 1)), settings()).prop_map(|(shape, launch, setting)| {
        let (rows, columns, inner) = shape;
        let launch = launch.unwrap_or(Launch::over_product(rows, columns));
        Product { rows, columns, inner, launch, setting }
    })
}

fn matrices() -> impl Strategy<Value = Matrix> {
    let shapes = (sides(70), sides(70));
    (shapes, tile_launches((32, 8, 1)), settings()).prop_map(|(shape, launch, setting)| {
        let (rows, columns) = shape;
        let launch = launch.unwrap_or(Launch::over_transpose(rows, columns));
        Matrix { rows, columns, launch, setting }
    })
}

#[test]
#[ignore = "needs a CUDA device"]
fn matmul() {
    fn check<E: Element>(gpu: &Gpu) {
        let kernel = gpu.kernel(E::name(MATMUL));
        for_all(products(), |case| {
            let Product { rows, columns, inner, launch, setting } = *case;
            let mut random = fastrand::Rng::with_seed(setting.seed);
            let mut draw = |count| {
                (0..count).map(|_| E::store(number(&mut random))).collect::<Vec<E::Stored>>()
            };
            let (left, right) = (draw(rows * inner), draw(inner * columns));
            let (first, second) =
                (gpu.upload(&left, setting.before), gpu.upload(&right, setting.before / 2));
            let to = gpu.output::<E::Stored>(rows * columns, setting.before);
            let arguments = [
                first.argument(),
                second.argument(),
                to.argument(),
                rows.into(),
                columns.into(),
                inner.into(),
            ];
            gpu.launch(&kernel, launch, &arguments);

            let expected = (0..rows * columns).map(|at| {
                let (row, column) = (at / columns, at % columns);
                let term =
                    |k| E::load(left[row * inner + k]) * E::load(right[k * columns + column]);
                let sizes: f64 = (0..inner).map(|k| term(k).abs()).sum();
                let value = (0..inner).map(term).sum();
                // The reference rounds product and sum separately, so twice for each term.
                let of_reference = gamma(2 * inner, f64::EPSILON / 2.0);
                Reference { value, error: (gamma(inner, E::UNIT) + of_reference) * sizes }
            });
            compare::<E>(&gpu.download(&to)?, expected)
        });
    }
    Gpu::with(MODULE, |gpu| for_each_type!(check(gpu)));
}

#[test]
#[ignore = "needs a CUDA device"]
fn transpose() {
    fn check<E: Element>(gpu: &Gpu) {
        let kernel = gpu.kernel(E::name(TRANSPOSE));
        for_all(matrices(), |case| {
            let Matrix { rows, columns, launch, setting } = *case;
            let mut random = fastrand::Rng::with_seed(setting.seed);
            let data: Vec<_> = (0..rows * columns).map(|_| E::store(number(&mut random))).collect();
            let from = gpu.upload(&data, setting.before);
            let to = gpu.output::<E::Stored>(rows * columns, setting.before / 2);
            let arguments = [from.argument(), to.argument(), rows.into(), columns.into()];
            gpu.launch(&kernel, launch, &arguments);

            let actual = gpu.download(&to)?;
            let expected: Vec<_> =
                (0..rows * columns).map(|at| data[at % rows * columns + at / rows]).collect();
            if actual == expected {
                return Ok(());
            }
            Err(format!("{}: {actual:?} instead of {expected:?}", E::NAME))
        });
    }
    Gpu::with(MODULE, |gpu| for_each_type!(check(gpu)));
}
