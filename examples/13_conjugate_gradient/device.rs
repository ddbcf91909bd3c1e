//! The algebra of the method on a device: a kernel each, on the stream of the scope's pool.

use std::error::Error;
use std::fmt;

use cudarc::driver::{CudaFunction, DriverError, LaunchConfig, PushKernelArg};
use pool_facade::pool_cuda::{CudaDevice, CudaError, DeviceViewMut, Launch};
use pool_facade::{Cuda, PoolError, Scope};
use pool_kernels::{elementwise, reduction, sparse};

use crate::solver::{Algebra, Matrix};
use pool_examples::kernel;

/// The kernels for numbers of 64 bits.
pub(crate) struct Kernels {
    multiply: CudaFunction,
    dot: CudaFunction,
    add_ratio: CudaFunction,
    scale_by_ratio: CudaFunction,
}

/// What can go wrong on a device.
#[derive(Debug)]
pub(crate) enum Failure {
    Pool(PoolError<CudaError>),
    Device(CudaError),
    Launch(DriverError),
}

impl From<PoolError<CudaError>> for Failure {
    fn from(error: PoolError<CudaError>) -> Self {
        Self::Pool(error)
    }
}

impl From<CudaError> for Failure {
    fn from(error: CudaError) -> Self {
        Self::Device(error)
    }
}

impl From<DriverError> for Failure {
    fn from(error: DriverError) -> Self {
        Self::Launch(error)
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Pool(error) => error.fmt(f),
            Self::Device(error) => error.fmt(f),
            Self::Launch(error) => write!(f, "a launch answers {error}"),
        }
    }
}

impl Error for Failure {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            // Their text is this error's own, so what is below them is below this.
            Self::Pool(error) => error.source(),
            Self::Device(error) => error.source(),
            // Its text is a part of this error's.
            Self::Launch(_) => None,
        }
    }
}

impl Kernels {
    pub(crate) fn load(device: &CudaDevice) -> Result<Self, Box<dyn Error>> {
        Ok(Self {
            multiply: kernel(device, sparse::MODULE, sparse::SPMV.f64)?,
            dot: kernel(device, reduction::MODULE, reduction::DOT.f64)?,
            add_ratio: kernel(device, elementwise::MODULE, elementwise::AXPY_RATIO.f64)?,
            scale_by_ratio: kernel(device, elementwise::MODULE, elementwise::XPAY_RATIO.f64)?,
        })
    }
}

/// A grid for so many elements.
fn over(count: usize) -> LaunchConfig {
    let launch = pool_kernels::Launch::over_elements(count);
    LaunchConfig { grid_dim: launch.grid, block_dim: launch.block, shared_mem_bytes: 0 }
}

type View<'s> = DeviceViewMut<'s, f64>;

impl Algebra<Cuda> for Kernels {
    type Error = Failure;

    fn multiply(
        &self,
        scope: &Scope<'_, Cuda>,
        matrix: &Matrix<'_, Cuda>,
        x: &View<'_>,
        to: &mut View<'_>,
    ) -> Result<(), Failure> {
        let rows = matrix.rows as u64;
        let mut launch = scope.launch(&self.multiply);
        launch
            .arg(&matrix.values)
            .arg(&matrix.columns)
            .arg(&matrix.starts)
            .arg(x)
            .arg(to)
            .arg(&rows);
        // SAFETY: the parameters are those of `SPMV`, and the matrix is as it describes.
        unsafe { launch.launch(over(matrix.rows)) }?;
        Ok(())
    }

    fn dot(
        &self,
        scope: &Scope<'_, Cuda>,
        x: &View<'_>,
        y: &View<'_>,
        to: &mut View<'_>,
    ) -> Result<(), Failure> {
        let count = x.len() as u64;
        let mut launch = scope.launch(&self.dot);
        launch.arg(x).arg(y).arg(to).arg(&count);
        // One block: then the order of the sum, and its last bits, are the same every time.
        let one_block = LaunchConfig { grid_dim: (1, 1, 1), ..over(x.len()) };
        // SAFETY: the parameters are those of `DOT`, and both arrays are as long.
        unsafe { launch.launch(one_block) }?;
        Ok(())
    }

    fn add_ratio(
        &self,
        scope: &Scope<'_, Cuda>,
        (numerator, denominator): (&View<'_>, &View<'_>),
        sign: f64,
        x: &View<'_>,
        y: &mut View<'_>,
    ) -> Result<(), Failure> {
        let count = x.len() as u64;
        let mut launch = scope.launch(&self.add_ratio);
        launch.arg(numerator).arg(denominator).arg(&sign).arg(x).arg(y).arg(&count);
        // SAFETY: the parameters are those of `AXPY_RATIO`, and both arrays are as long.
        unsafe { launch.launch(over(x.len())) }?;
        Ok(())
    }

    fn scale_by_ratio(
        &self,
        scope: &Scope<'_, Cuda>,
        (numerator, denominator): (&View<'_>, &View<'_>),
        x: &View<'_>,
        y: &mut View<'_>,
    ) -> Result<(), Failure> {
        let count = x.len() as u64;
        let mut launch = scope.launch(&self.scale_by_ratio);
        launch.arg(numerator).arg(denominator).arg(x).arg(y).arg(&count);
        // SAFETY: the parameters are those of `XPAY_RATIO`, and both arrays are as long.
        unsafe { launch.launch(over(x.len())) }?;
        Ok(())
    }
}
