//! The product of a sparse matrix and a vector: a chain of fused additions for each row. So the
//! error is at most γ of the row's length times the product of the absolute values (Higham, section
//! 3.5).

use pool_kernels::Launch;
use pool_kernels::sparse::{MODULE, SPMV};
use proptest::collection::vec;
use proptest::prelude::Strategy;

use crate::bounds::{Reference, compare, gamma};
use crate::cases::{Setting, any_launches, for_all, number, settings};
use crate::element::{Float, for_each_float};
use crate::gpu::Gpu;

#[derive(Clone, Debug)]
struct Case {
    /// The number of elements of each row.
    rows: Vec<usize>,
    columns: u32,
    launch: Launch,
    setting: Setting,
}

fn cases() -> impl Strategy<Value = Case> {
    let shapes = (vec(0_usize..20, 0..80), 1_u32..60);
    (shapes, any_launches(), settings()).prop_map(|((rows, columns), launch, setting)| {
        let launch = launch.unwrap_or(Launch::over_elements(rows.len()));
        Case { rows, columns, launch, setting }
    })
}

#[test]
#[ignore = "needs a CUDA device"]
fn spmv() {
    fn check<E: Float>(gpu: &Gpu) {
        let kernel = gpu.kernel(E::float_name(SPMV));
        for_all(cases(), |case| {
            let mut random = fastrand::Rng::with_seed(case.setting.seed);
            let mut starts = vec![0_u32];
            for row in &case.rows {
                starts.push(starts.last().unwrap() + u32::try_from(*row).unwrap());
            }
            let all: usize = case.rows.iter().sum();
            // A column that occurs twice in a row is two terms.
            let columns: Vec<u32> = (0..all).map(|_| random.u32(..case.columns)).collect();
            let mut draw = |count| {
                (0..count).map(|_| E::store(number(&mut random))).collect::<Vec<E::Stored>>()
            };
            let (values, x) = (draw(all), draw(case.columns as usize));

            let before = case.setting.before;
            let to = gpu.output::<E::Stored>(case.rows.len(), before);
            let on_device = (gpu.upload(&values, before), gpu.upload(&x, before / 2));
            let indices = (gpu.upload(&columns, before), gpu.upload(&starts, before / 3));
            let arguments = [
                on_device.0.argument(),
                indices.0.argument(),
                indices.1.argument(),
                on_device.1.argument(),
                to.argument(),
                case.rows.len().into(),
            ];
            gpu.launch(&kernel, case.launch, &arguments);

            let expected =
                starts[..case.rows.len()].iter().zip(&case.rows).map(|(start, length)| {
                    let start = *start as usize;
                    let term = |at: usize| E::load(values[at]) * E::load(x[columns[at] as usize]);
                    let terms = || (start..start + length).map(term);
                    let sizes: f64 = terms().map(f64::abs).sum();
                    let of_reference = gamma(2 * length, f64::EPSILON / 2.0);
                    let error = (gamma(*length, E::UNIT) + of_reference) * sizes;
                    Reference { value: terms().sum(), error }
                });
            compare::<E>(&gpu.download(&to)?, expected)
        });
    }
    Gpu::with(MODULE, |gpu| for_each_float!(check(gpu)));
}
