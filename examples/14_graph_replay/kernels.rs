//! The kernels of a step, which operate on addresses.

use std::error::Error;
use std::sync::Arc;

use cudarc::driver::{CudaFunction, CudaStream, LaunchConfig, PushKernelArg};
use pool_facade::pool_cuda::CudaDevice;
use pool_facade::pool_graph::CaptureError;
use pool_kernels::{elementwise, reduction, sparse};

use pool_examples::kernel;

/// The kernels for 64-bit numbers.
pub(crate) struct Kernels {
    multiply: CudaFunction,
    dot: CudaFunction,
    add_ratio: CudaFunction,
    scale_by_ratio: CudaFunction,
}

/// Returns a grid for `count` elements.
fn over(count: usize) -> LaunchConfig {
    let launch = pool_kernels::Launch::over_elements(count);
    LaunchConfig { grid_dim: launch.grid, block_dim: launch.block, shared_mem_bytes: 0 }
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

    /// Computes `to = A x`. The matrix is given as its values, columns and row starts.
    ///
    /// # Safety
    ///
    /// The addresses must be those of arrays on the stream's device, with the lengths that `rows`
    /// requires.
    pub(crate) unsafe fn multiply(
        &self,
        stream: &Arc<CudaStream>,
        [values, columns, starts]: [u64; 3],
        x: u64,
        to: u64,
        rows: usize,
    ) -> Result<(), CaptureError> {
        let count = rows as u64;
        let mut launch = stream.launch_builder(&self.multiply);
        launch.arg(&values).arg(&columns).arg(&starts).arg(&x).arg(&to).arg(&count);
        // SAFETY: the arguments match the parameters of `SPMV`, and the caller upholds the rest of
        // the contract.
        unsafe { launch.launch(over(rows)) }?;
        Ok(())
    }

    /// Computes `to = x · y`. `to` must be 0 beforehand.
    ///
    /// # Safety
    ///
    /// The requirements of [`multiply`](Self::multiply).
    pub(crate) unsafe fn dot(
        &self,
        stream: &Arc<CudaStream>,
        [x, y, to]: [u64; 3],
        count: usize,
    ) -> Result<(), CaptureError> {
        let length = count as u64;
        let mut launch = stream.launch_builder(&self.dot);
        launch.arg(&x).arg(&y).arg(&to).arg(&length);
        // A single block sums in the same order every time, so even the last bits are reproducible.
        let one_block = LaunchConfig { grid_dim: (1, 1, 1), ..over(count) };
        // SAFETY: the arguments match the parameters of `DOT`, and the caller upholds the rest of
        // the contract.
        unsafe { launch.launch(one_block) }?;
        Ok(())
    }

    /// Computes `y = y + sign · (numerator / denominator) · x`.
    ///
    /// # Safety
    ///
    /// The requirements of [`multiply`](Self::multiply).
    pub(crate) unsafe fn add_ratio(
        &self,
        stream: &Arc<CudaStream>,
        [numerator, denominator, x, y]: [u64; 4],
        sign: f64,
        count: usize,
    ) -> Result<(), CaptureError> {
        let length = count as u64;
        let mut launch = stream.launch_builder(&self.add_ratio);
        launch.arg(&numerator).arg(&denominator).arg(&sign).arg(&x).arg(&y).arg(&length);
        // SAFETY: the arguments match the parameters of `AXPY_RATIO`, and the caller upholds the
        // rest of the contract.
        unsafe { launch.launch(over(count)) }?;
        Ok(())
    }

    /// Computes `y = x + (numerator / denominator) · y`.
    ///
    /// # Safety
    ///
    /// The requirements of [`multiply`](Self::multiply).
    pub(crate) unsafe fn scale_by_ratio(
        &self,
        stream: &Arc<CudaStream>,
        [numerator, denominator, x, y]: [u64; 4],
        count: usize,
    ) -> Result<(), CaptureError> {
        let length = count as u64;
        let mut launch = stream.launch_builder(&self.scale_by_ratio);
        launch.arg(&numerator).arg(&denominator).arg(&x).arg(&y).arg(&length);
        // SAFETY: the arguments match the parameters of `XPAY_RATIO`, and the caller upholds the
        // rest of the contract.
        unsafe { launch.launch(over(count)) }?;
        Ok(())
    }
}
