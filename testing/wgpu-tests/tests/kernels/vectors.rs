//! axpy and the dot product.

use pool_core::{Pool, PoolView};
use pool_kernels::wgsl::{
    AXPY, AxpyParameters, DOT_PARTIAL, DOT_TOTAL, DotParameters, workgroups_over_elements,
};
use pool_wgpu::{BufferView, Wgpu};

use crate::bounds::{Reference, Sum, assert_within, gamma, numbers};
use crate::device::{Compiled, stream};

/// Counts around a workgroup of 64, and around 1,024 workgroups, where an invocation begins to
/// process several elements.
const COUNTS: [u32; 10] = [1, 2, 63, 64, 65, 1_000, 4_097, 65_535, 65_537, 200_001];

/// Returns the number of terms that the busiest of the workgroups' invocations sums.
fn share(count: u32, workgroups: u32) -> u32 {
    count.div_ceil(workgroups * 64)
}

#[test]
fn axpy() {
    let Some((stream, _quiet)) = stream() else { return };
    let axpy = Compiled::new(&stream, &AXPY);
    let mut pool = Pool::<Wgpu>::new(stream);
    for count in COUNTS {
        let (x, y) = (numbers(count as usize, 1), numbers(count as usize, 2));
        let factor = -0.7_f32;
        for workgroups in [workgroups_over_elements(count), [3, 1, 1]] {
            let scope = pool.scope();
            // Both are longer than the count: the elements after it must not change.
            let mut result = scope.acquire_from(&[&*y, &[7.0]].concat());
            let x_view = scope.acquire_from(&[&*x, &[1.0]].concat());
            let bindings = [x_view.binding().unwrap(), result.binding_mut().unwrap()];
            axpy.dispatch(&bindings, &AxpyParameters { factor, count }, workgroups);
            let mut results = result.copy_to_vec().unwrap();
            assert_eq!(results.pop(), Some(7.0), "axpy of {count}: bytes after the vector");
            // The product is rounded twice, and y once.
            let expected = x.iter().zip(&y).map(|(x, y)| {
                let (product, y) = (f64::from(factor) * f64::from(*x), f64::from(*y));
                let error = gamma(2) * product.abs() + gamma(1) * y.abs();
                Reference { value: product + y, error }
            });
            assert_within(&format!("axpy of {count} by {workgroups:?}"), &results, expected);
        }
    }
}

/// Both kernels of the dot product, and a pool for their temporaries.
struct Dot {
    partial: Compiled,
    total: Compiled,
    pool: Pool<Wgpu>,
}

impl Dot {
    fn of(&mut self, x: BufferView<'_, f32>, y: BufferView<'_, f32>, workgroups: u32) -> f32 {
        let scope = self.pool.scope();
        let count = u32::try_from(x.len()).unwrap();
        let mut partial_sums = scope.acquire::<f32, _>(workgroups as usize);
        let mut total = scope.acquire::<f32, _>(1);
        let bindings =
            [x.binding().unwrap(), y.binding().unwrap(), partial_sums.binding_mut().unwrap()];
        self.partial.dispatch(&bindings, &DotParameters { count }, [workgroups, 1, 1]);
        let bindings = [partial_sums.binding().unwrap(), total.binding_mut().unwrap()];
        self.total.dispatch(&bindings, &DotParameters { count: workgroups }, [1, 1, 1]);
        total.copy_to_vec().unwrap()[0]
    }
}

#[test]
fn dot() {
    let Some((stream, _quiet)) = stream() else { return };
    let mut inputs = Pool::<Wgpu>::new(stream.clone());
    let mut dot = Dot {
        partial: Compiled::new(&stream, &DOT_PARTIAL),
        total: Compiled::new(&stream, &DOT_TOTAL),
        pool: Pool::new(stream),
    };
    for count in COUNTS {
        let (x, y) = (numbers(count as usize, 3), numbers(count as usize, 4));
        let sum = Sum::of(x.iter().zip(&y).map(|(x, y)| f64::from(*x) * f64::from(*y)));
        let scope = inputs.scope();
        let (x, y) = (scope.acquire_from(&x), scope.acquire_from(&y));
        for workgroups in [workgroups_over_elements(count)[0], 1, 65] {
            let result = dot.of(x.as_view(), y.as_view(), workgroups);
            // A product is rounded. Then it is added to the others of its invocation's share (the
            // first of them to 0, exactly), and in six steps to those of its workgroup; so is the
            // workgroup's sum to the others.
            let within = |terms, workgroups| share(terms, workgroups) - 1 + 6;
            let roundings = 1 + within(count, workgroups) + within(workgroups, 1);
            let what = format!("dot of {count} by {workgroups}");
            assert_within(&what, &[result], [sum.rounded(roundings)].into_iter());
            for _ in 0..3 {
                let again = dot.of(x.as_view(), y.as_view(), workgroups);
                assert_eq!(again.to_bits(), result.to_bits(), "{what}: another order");
            }
        }
    }
}
