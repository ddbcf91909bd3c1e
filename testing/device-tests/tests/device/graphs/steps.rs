//! A step that uses only scopes and views, run both eagerly and captured.

use std::sync::Arc;

use cudarc::driver::{CudaContext, CudaFunction, CudaStream, LaunchConfig, PushKernelArg};
use cudarc::nvrtc::Ptx;
use pool_core::{Pool, PoolView, PoolViewMut, Scope};
use pool_cuda::{Cuda, DeviceStream, DeviceView, DeviceViewMut, Launch};
use pool_graph::{
    CUDAGraphMemoryPool, Capture, CaptureError, CaptureSession, CapturedGraph, DeviceMemory,
    GraphMemoryBlock, GraphPoolConfig,
};
use pool_kernels::elementwise;

/// The number of elements in each array.
pub(crate) const N: usize = 200;

/// The size of an array in bytes.
pub(crate) const BYTES: u64 = (N * size_of::<f64>()) as u64;

const GRID: LaunchConfig =
    LaunchConfig { grid_dim: (2, 1, 1), block_dim: (128, 1, 1), shared_mem_bytes: 0 };

/// `y = factor * x + y`.
pub(crate) struct Axpy(CudaFunction);

impl Axpy {
    pub(crate) fn load(context: &Arc<CudaContext>) -> Self {
        let module = context.load_module(Ptx::from_src(elementwise::MODULE.text())).unwrap();
        Self(module.load_function(elementwise::AXPY.f64).unwrap())
    }

    pub(crate) fn on_scope(
        &self,
        scope: &Scope<'_, Cuda>,
        factor: f64,
        x: &DeviceView<'_, f64>,
        y: &mut DeviceViewMut<'_, f64>,
    ) -> Result<(), CaptureError> {
        let count = N as u64;
        let mut launch = scope.launch(&self.0);
        launch.arg(&factor).arg(x).arg(y).arg(&count);
        // SAFETY: the arguments match `AXPY`, and both arrays have `N` elements.
        unsafe { launch.launch(GRID) }?;
        Ok(())
    }

    /// Does the same on a stream other than the views' own.
    pub(crate) fn on_stream(
        &self,
        stream: &Arc<CudaStream>,
        factor: f64,
        x: &DeviceView<'_, f64>,
        y: &mut DeviceViewMut<'_, f64>,
    ) -> Result<(), CaptureError> {
        let count = N as u64;
        let (x, y) = (x.on(stream)?, y.on(stream)?);
        let mut launch = stream.launch_builder(&self.0);
        launch.arg(&factor).arg(&x).arg(&y).arg(&count);
        // SAFETY: as above; both views were lent to this stream.
        unsafe { launch.launch(GRID) }?;
        Ok(())
    }
}

/// The step, which works the same eagerly and in a capture. It fills 8-byte elements with values
/// that no memset of the driver can repeat.
pub(crate) fn step(
    scope: &mut Scope<'_, Cuda>,
    axpy: &Axpy,
    input: &DeviceView<'_, f64>,
    output: &mut DeviceViewMut<'_, f64>,
) -> Result<(), CaptureError> {
    let mut sum = scope.try_acquire_filled(N, 0.1_f64)?;
    let mut total = scope.try_acquire_zeroed::<f64, _>(N)?;
    axpy.on_scope(scope, 2.0, input, &mut sum)?;
    for factor in [1.0, 0.3, 7.0] {
        let inner = scope.scope();
        let mut scratch = inner.try_acquire::<f64, _>(sum.len())?;
        scratch.copy_from(sum.as_view())?;
        axpy.on_scope(&inner, factor, &sum.as_view(), &mut scratch)?;
        axpy.on_scope(&inner, 1.0, &scratch.as_view(), &mut total)?;
    }
    output.copy_from(total.as_view()).map_err(CaptureError::from)
}

/// Returns the step's result for an input, computed eagerly.
pub(crate) fn eager(axpy: &Axpy, stream: &Arc<CudaStream>, input: &[f64]) -> Vec<f64> {
    let mut pool = Pool::<Cuda>::new(DeviceStream::from_stream(Arc::clone(stream)).unwrap());
    let mut scope = pool.scope();
    let input = scope.acquire_from(input);
    let mut output = scope.acquire::<f64, _>(N);
    step(&mut scope.scope(), axpy, &input.as_view(), &mut output).unwrap();
    output.copy_to_vec().unwrap()
}

/// Returns an input that differs in every round.
pub(crate) fn input(round: u32) -> Vec<f64> {
    (0..N).map(|place| f64::from(round) + (place as f64).sin()).collect()
}

/// Two blocks. A graph reads one and writes the other.
#[derive(Clone, Copy)]
pub(crate) struct Ends {
    pub(crate) from: GraphMemoryBlock,
    pub(crate) to: GraphMemoryBlock,
}

impl Ends {
    /// Returns the ends of a session on these streams. The session leases them.
    pub(crate) fn of_session(
        streams: &[&Arc<CudaStream>],
    ) -> Result<(CaptureSession, Self), CaptureError> {
        let memory = DeviceMemory::of_context(Arc::clone(streams[0].context()));
        let config = GraphPoolConfig { initial: 0, maximum: u64::MAX };
        let pool = CUDAGraphMemoryPool::with_config(memory, config);
        let ends = Self { from: pool.allocate(BYTES)?, to: pool.allocate(BYTES)? };
        let lease = pool.lease(&[ends.from.id(), ends.to.id()])?;
        let session = CaptureSession::new(streams[0])?.lease(lease);
        let branch = |session: CaptureSession, stream: &&Arc<CudaStream>| session.branch(stream);
        Ok((streams[1..].iter().try_fold(session, branch)?, ends))
    }

    /// Runs the step as a body, on the session's stream.
    pub(crate) fn body(&self, capture: &Capture<'_>, axpy: &Axpy) -> Result<(), CaptureError> {
        self.with_views(capture, |scope, from, to| step(scope, axpy, from, to))
    }

    /// Runs a body on the session's stream, with both ends as device views.
    pub(crate) fn with_views(
        &self,
        capture: &Capture<'_>,
        body: impl FnOnce(
            &mut Scope<'_, Cuda>,
            &DeviceView<'_, f64>,
            &mut DeviceViewMut<'_, f64>,
        ) -> Result<(), CaptureError>,
    ) -> Result<(), CaptureError> {
        let main = capture.main();
        let (mut from, mut to) = (capture.block(&self.from)?, capture.block(&self.to)?);
        let (from, mut to) = (capture.lend(main, &mut from)?, capture.lend(main, &mut to)?);
        capture.scope(main, |scope| body(scope, &from.view()?, &mut to.view_mut()?))
    }

    /// Replays once.
    pub(crate) fn run<S>(
        &self,
        graph: &mut CapturedGraph<S>,
        input: &[f64],
    ) -> Result<Vec<f64>, CaptureError> {
        graph.write(&self.from, input)?;
        graph.replay()?;
        let mut output = vec![0.0; N];
        graph.read(&self.to, &mut output)?;
        Ok(output)
    }
}

/// Checks that two arrays are equal bit by bit.
#[track_caller]
pub(crate) fn assert_same_bits(one: &[f64], other: &[f64]) {
    let bits = |numbers: &[f64]| numbers.iter().map(|number| number.to_bits()).collect::<Vec<_>>();
    assert_eq!(bits(one), bits(other));
}
