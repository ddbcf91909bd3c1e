//! The method's step, which uses only scopes and views. It runs eagerly, and is captured unchanged.

use std::error::Error;
use std::sync::Arc;

use cudarc::driver::CudaStream;
use pool_facade::pool_cuda::{Cuda, DeviceStream, DeviceView, DeviceViewMut};
use pool_facade::pool_graph::CaptureError;
use pool_facade::{Pool, PoolView, Scope};

use crate::kernels::Kernels;
use crate::problem::Problem;

/// The matrix, and the vectors that persist from step to step.
pub(crate) struct Arrays<'a> {
    pub(crate) values: DeviceView<'a, f64>,
    pub(crate) columns: DeviceView<'a, u32>,
    pub(crate) starts: DeviceView<'a, u32>,
    pub(crate) x: DeviceViewMut<'a, f64>,
    pub(crate) residual: DeviceViewMut<'a, f64>,
    pub(crate) direction: DeviceViewMut<'a, f64>,
}

/// Runs one step (Hestenes and Stiefel, 1952). Its temporaries are acquired from the scope.
pub(crate) fn step(
    scope: &Scope<'_, Cuda>,
    kernels: &Kernels,
    arrays: &mut Arrays<'_>,
) -> Result<(), CaptureError> {
    let rows = arrays.x.len();
    let image = scope.try_acquire::<f64, _>(rows)?;
    let [before, bend, after] = [
        scope.try_acquire_zeroed::<f64, _>(1)?,
        scope.try_acquire_zeroed::<f64, _>(1)?,
        scope.try_acquire_zeroed::<f64, _>(1)?,
    ];
    let stream = scope.context().stream();
    let matrix = [arrays.values.address(), arrays.columns.address(), arrays.starts.address()];
    let [x, r, d] = [&arrays.x, &arrays.residual, &arrays.direction].map(DeviceViewMut::address);
    let [q, rr, dq, next] = [&image, &before, &bend, &after].map(DeviceViewMut::address);
    // SAFETY: here and below, the addresses belong to views of the stream's pools. Each view has
    // the length that the kernel expects.
    unsafe { kernels.multiply(stream, matrix, d, q, rows) }?;
    // SAFETY: the addresses belong to views of sufficient length in the stream's pools.
    unsafe { kernels.dot(stream, [r, r, rr], rows) }?;
    // SAFETY: the addresses belong to views of sufficient length in the stream's pools.
    unsafe { kernels.dot(stream, [d, q, dq], rows) }?;
    // SAFETY: the addresses belong to views of sufficient length in the stream's pools.
    unsafe { kernels.add_ratio(stream, [rr, dq, d, x], 1.0, rows) }?;
    // SAFETY: the addresses belong to views of sufficient length in the stream's pools.
    unsafe { kernels.add_ratio(stream, [rr, dq, q, r], -1.0, rows) }?;
    // SAFETY: the addresses belong to views of sufficient length in the stream's pools.
    unsafe { kernels.dot(stream, [r, r, next], rows) }?;
    // SAFETY: the addresses belong to views of sufficient length in the stream's pools.
    unsafe { kernels.scale_by_ratio(stream, [next, rr, r, d], rows) }
}

/// Launches the steps kernel by kernel, each step in a scope. Returns the result, and the total
/// bytes of the scope's blocks.
pub(crate) fn run_eagerly(
    kernels: &Kernels,
    stream: &Arc<CudaStream>,
    problem: &Problem,
    steps: usize,
) -> Result<(Vec<f64>, usize), Box<dyn Error>> {
    let mut own = Pool::<Cuda>::new(DeviceStream::from_stream(Arc::clone(stream))?);
    let mut pool = Pool::<Cuda>::new(DeviceStream::from_stream(Arc::clone(stream))?);
    let kept = own.scope();
    let mut arrays = Arrays {
        values: kept.try_acquire_from(problem.matrix.values())?.into_view(),
        columns: kept.try_acquire_from(problem.matrix.columns())?.into_view(),
        starts: kept.try_acquire_from(problem.matrix.starts())?.into_view(),
        x: kept.try_acquire_zeroed(problem.rows())?,
        residual: kept.try_acquire_from(&problem.right)?,
        direction: kept.try_acquire_from(&problem.right)?,
    };
    for _ in 0..steps {
        step(&pool.scope(), kernels, &mut arrays)?;
    }
    Ok((arrays.x.copy_to_vec()?, pool.stats().reserved_bytes))
}
