//! The algebra on a CUDA device, real or simulated. Each operation launches one kernel on the
//! stream of the scope's pool.

use cudarc::driver::{CudaFunction, DeviceRepr, LaunchConfig, PushKernelArg};
use pool_facade::pool_cuda::{CudaDevice, DeviceView, DeviceViewMut, Launch};
use pool_facade::{Cuda, Scope};
use pool_kernels::{elementwise, reduction, sparse};

use super::arithmetic::{Algebra, Failure, length_of_all};
use super::matrix::Matrix;
use super::number::{Number, Precision};
use super::target::{Computation, Target};
use crate::device::{kernel, open};

/// Runs a computation on the first device, or on the simulated driver.
pub(super) fn run<C: Computation>(
    computation: &C,
    precision: Precision,
    simulated: bool,
) -> Result<C::Answer, Failure> {
    let device = if simulated { open(true)? } else { Cuda::device(0)? };
    let kernels = Kernels::load(&device, precision)?;
    let stream = device.new_stream()?;
    match precision {
        Precision::F32 => computation.run::<Cuda, f32, _>(&kernels, stream),
        Precision::F64 => computation.run::<Cuda, f64, _>(&kernels, stream),
    }
}

/// Returns a device if there is one, and the simulated driver otherwise.
pub(super) fn target() -> Target {
    if Cuda::is_available() { Target::Device } else { Target::Simulator }
}

/// The kernels for numbers of one precision.
struct Kernels {
    multiply: CudaFunction,
    add: CudaFunction,
    dot: CudaFunction,
    add_ratio: CudaFunction,
    scale_by_ratio: CudaFunction,
}

impl Kernels {
    fn load(device: &CudaDevice, precision: Precision) -> Result<Self, Failure> {
        let (spmv, add, dot) = (sparse::SPMV, elementwise::ADD, reduction::DOT);
        let (axpy, xpay) = (elementwise::AXPY_RATIO, elementwise::XPAY_RATIO);
        let names = match precision {
            Precision::F32 => [spmv.f32, add.f32, dot.f32, axpy.f32, xpay.f32],
            Precision::F64 => [spmv.f64, add.f64, dot.f64, axpy.f64, xpay.f64],
        };
        Ok(Self {
            multiply: kernel(device, sparse::MODULE, names[0])?,
            add: kernel(device, elementwise::MODULE, names[1])?,
            dot: kernel(device, reduction::MODULE, names[2])?,
            add_ratio: kernel(device, elementwise::MODULE, names[3])?,
            scale_by_ratio: kernel(device, elementwise::MODULE, names[4])?,
        })
    }
}

/// Returns a grid for `count` elements.
fn over(count: usize) -> LaunchConfig {
    let launch = pool_kernels::Launch::over_elements(count);
    LaunchConfig { grid_dim: launch.grid, block_dim: launch.block, shared_mem_bytes: 0 }
}

// All views of an operation belong to the scope's pool (`Algebra`), so the pool's stream orders
// them.
impl<T: Number + DeviceRepr> Algebra<Cuda, T> for Kernels {
    fn multiply(
        &self,
        scope: &Scope<'_, Cuda>,
        matrix: &Matrix<'_, Cuda, T>,
        x: DeviceView<'_, T>,
        to: &mut DeviceViewMut<'_, T>,
    ) -> Result<(), Failure> {
        let rows = length_of_all([matrix.rows(), x.len(), to.len()])?;
        let mut launch = scope.launch(&self.multiply);
        launch.arg(matrix.values()).arg(matrix.columns()).arg(matrix.starts());
        launch.arg(&x).arg(to).arg(&rows);
        // SAFETY: the arguments match the parameters of `SPMV`, and no row or column lies outside
        // the vectors (`Matrix`).
        unsafe { launch.launch(over(matrix.rows())) }?;
        Ok(())
    }

    fn add(
        &self,
        scope: &Scope<'_, Cuda>,
        x: DeviceView<'_, T>,
        y: &mut DeviceViewMut<'_, T>,
    ) -> Result<(), Failure> {
        let count = length_of_all([x.len(), y.len()])?;
        let mut launch = scope.launch(&self.add);
        launch.arg(&*y).arg(&x).arg(&*y).arg(&count);
        // SAFETY: the arguments match the parameters of `ADD`, whose output may also be an input,
        // and all arrays have the same length.
        unsafe { launch.launch(over(x.len())) }?;
        Ok(())
    }

    fn dot(
        &self,
        scope: &Scope<'_, Cuda>,
        x: DeviceView<'_, T>,
        y: DeviceView<'_, T>,
        to: &mut DeviceViewMut<'_, T>,
    ) -> Result<(), Failure> {
        let count = length_of_all([x.len(), y.len()])?;
        length_of_all([1, to.len()])?;
        let mut launch = scope.launch(&self.dot);
        launch.arg(&x).arg(&y).arg(to).arg(&count);
        // A single block sums in the same order every time, so even the last bits are reproducible.
        let one_block = LaunchConfig { grid_dim: (1, 1, 1), ..over(x.len()) };
        // SAFETY: the arguments match the parameters of `DOT`, and have the lengths that it
        // expects.
        unsafe { launch.launch(one_block) }?;
        Ok(())
    }

    fn add_ratio(
        &self,
        scope: &Scope<'_, Cuda>,
        (numerator, denominator): (DeviceView<'_, T>, DeviceView<'_, T>),
        sign: T,
        x: DeviceView<'_, T>,
        y: &mut DeviceViewMut<'_, T>,
    ) -> Result<(), Failure> {
        let count = length_of_all([x.len(), y.len()])?;
        length_of_all([1, numerator.len(), denominator.len()])?;
        let mut launch = scope.launch(&self.add_ratio);
        launch.arg(&numerator).arg(&denominator).arg(&sign).arg(&x).arg(y).arg(&count);
        // SAFETY: the arguments match the parameters of `AXPY_RATIO`, and have the lengths that it
        // expects.
        unsafe { launch.launch(over(x.len())) }?;
        Ok(())
    }

    fn scale_by_ratio(
        &self,
        scope: &Scope<'_, Cuda>,
        (numerator, denominator): (DeviceView<'_, T>, DeviceView<'_, T>),
        x: DeviceView<'_, T>,
        y: &mut DeviceViewMut<'_, T>,
    ) -> Result<(), Failure> {
        let count = length_of_all([x.len(), y.len()])?;
        length_of_all([1, numerator.len(), denominator.len()])?;
        let mut launch = scope.launch(&self.scale_by_ratio);
        launch.arg(&numerator).arg(&denominator).arg(&x).arg(y).arg(&count);
        // SAFETY: the arguments match the parameters of `XPAY_RATIO`, and have the lengths that it
        // expects.
        unsafe { launch.launch(over(x.len())) }?;
        Ok(())
    }
}
