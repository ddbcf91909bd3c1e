//! Sums of squares on a device: copies in one stream, kernels in another.

use std::sync::Arc;

use cudarc::driver::{
    CudaContext, CudaFunction, CudaStream, DriverError, LaunchConfig, PushKernelArg,
};
use cudarc::nvrtc::Ptx;

/// The kernel, compiled from the source beside it.
const KERNELS: &str = include_str!("../kernels/squares.ptx");
const KERNEL: &str =
    if cfg!(feature = "planted-race-in-kernel") { "squares_without_barriers" } else { "squares" };
/// The elements that a block adds up.
const THREADS: u32 = 256;

/// Two streams of a device, and the kernel.
#[derive(Debug)]
pub struct Squares {
    copies: Arc<CudaStream>,
    kernels: Arc<CudaStream>,
    squares: CudaFunction,
}

impl Squares {
    /// Prepares a device.
    pub fn new(device: usize) -> Result<Self, DriverError> {
        let context = CudaContext::new(device)?;
        // SAFETY: the streams of this type wait for each other explicitly, at less cost than
        // cudarc's events.
        unsafe { context.disable_event_tracking() };
        let squares = context.load_module(Ptx::from_src(KERNELS))?.load_function(KERNEL)?;
        Ok(Self { copies: context.new_stream()?, kernels: context.new_stream()?, squares })
    }

    /// Returns the sum of the squares of these numbers.
    pub fn sum(&self, values: &[f32]) -> Result<f32, DriverError> {
        let count = u32::try_from(values.len()).expect("fewer than 4 billion numbers");
        let blocks = count.div_ceil(THREADS);
        let on_device = self.copies.clone_htod(values)?;
        let mut sums = self.copies.alloc_zeros::<f32>(blocks as usize)?;
        if !cfg!(feature = "planted-race") {
            self.kernels.wait(&self.copies.record_event(None)?)?;
        }
        let shape = LaunchConfig {
            grid_dim: (blocks, 1, 1),
            block_dim: (THREADS, 1, 1),
            shared_mem_bytes: 0,
        };
        let mut launch = self.kernels.launch_builder(&self.squares);
        launch.arg(&on_device).arg(&count).arg(&mut sums);
        // SAFETY: the kernel reads `count` numbers and writes a sum for each block.
        unsafe { launch.launch(shape) }?;
        let copied = self.kernels.clone_dtoh(&sums);
        // Both are freed in the other stream, even if the copy failed.
        self.copies.wait(&self.kernels.record_event(None)?)?;
        let copied = copied?;
        self.kernels.synchronize()?;
        Ok(copied.iter().sum())
    }
}
