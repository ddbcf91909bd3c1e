//! The method's arrays, and its step: once as a capture, once launched kernel by kernel.

use std::error::Error;
use std::sync::Arc;

use cudarc::driver::{CudaStream, result};
use pool_core::{PodElement, bytemuck};
use pool_graph::{
    BlockId, CUDAGraphMemoryPool, Capture, CaptureError, CapturedGraph, GraphMemoryBlock,
};

use crate::kernels::Kernels;
use crate::problem::Problem;

/// What stays from step to step: the matrix, and three vectors.
pub(crate) struct Method {
    values: GraphMemoryBlock,
    columns: GraphMemoryBlock,
    starts: GraphMemoryBlock,
    pub(crate) x: GraphMemoryBlock,
    residual: GraphMemoryBlock,
    direction: GraphMemoryBlock,
    rows: usize,
}

impl Method {
    pub(crate) fn new(
        pool: &CUDAGraphMemoryPool,
        problem: &Problem,
    ) -> Result<Self, Box<dyn Error>> {
        let rows = problem.rows();
        let vector = || pool.allocate((rows * size_of::<f64>()) as u64);
        Ok(Self {
            values: pool.allocate(size_of_val(&problem.values[..]) as u64)?,
            columns: pool.allocate(size_of_val(&problem.columns[..]) as u64)?,
            starts: pool.allocate(size_of_val(&problem.starts[..]) as u64)?,
            x: vector()?,
            residual: vector()?,
            direction: vector()?,
            rows,
        })
    }

    pub(crate) fn ids(&self) -> [BlockId; 6] {
        let Self { values, columns, starts, x, residual, direction, .. } = self;
        [values, columns, starts, x, residual, direction].map(GraphMemoryBlock::id)
    }

    fn matrix(&self) -> [u64; 3] {
        [&self.values, &self.columns, &self.starts].map(GraphMemoryBlock::device_pointer)
    }

    /// One step, as a body of a capture (Hestenes and Stiefel, 1952).
    #[expect(
        clippy::multiple_unsafe_ops_per_block,
        reason = "a launch, and its being enqueued, are one promise: that the uses beside it are right"
    )]
    pub(crate) fn step(
        &self,
        capture: &Capture<'_>,
        kernels: &Kernels,
    ) -> Result<(), CaptureError> {
        let (main, rows, matrix) = (capture.main(), self.rows, self.matrix());
        let [values, columns, starts] = [
            capture.block::<u8>(&self.values)?,
            capture.block::<u8>(&self.columns)?,
            capture.block::<u8>(&self.starts)?,
        ];
        let mut x = capture.block::<f64>(&self.x)?;
        let mut residual = capture.block::<f64>(&self.residual)?;
        let mut direction = capture.block::<f64>(&self.direction)?;
        let [r, d] = [residual.device_pointer(), direction.device_pointer()];

        let mut image = capture.acquire::<f64>(rows)?;
        let q = image.device_pointer();
        let uses = [values.read(), columns.read(), starts.read(), direction.read(), image.write()];
        // SAFETY: here and below, the kernel reads and writes what its uses say, on this stream.
        unsafe {
            capture.enqueue(main, &uses, |stream| kernels.multiply(stream, matrix, d, q, rows))
        }?;
        let mut before = capture.acquire::<f64>(1)?;
        capture.fill_bytes(main, &mut before, 0)?;
        let rr = before.device_pointer();
        let uses = [residual.read(), before.write()];
        // SAFETY: as above.
        unsafe { capture.enqueue(main, &uses, |stream| kernels.dot(stream, [r, r, rr], rows)) }?;
        let mut bend = capture.acquire::<f64>(1)?;
        capture.fill_bytes(main, &mut bend, 0)?;
        let dq = bend.device_pointer();
        let uses = [direction.read(), image.read(), bend.write()];
        // SAFETY: as above.
        unsafe { capture.enqueue(main, &uses, |stream| kernels.dot(stream, [d, q, dq], rows)) }?;
        let to = [rr, dq, d, x.device_pointer()];
        let uses = [before.read(), bend.read(), direction.read(), x.write()];
        // SAFETY: as above.
        unsafe { capture.enqueue(main, &uses, |stream| kernels.add_ratio(stream, to, 1.0, rows)) }?;
        let uses = [before.read(), bend.read(), image.read(), residual.write()];
        let to = [rr, dq, q, r];
        // SAFETY: as above.
        unsafe {
            capture.enqueue(main, &uses, |stream| kernels.add_ratio(stream, to, -1.0, rows))
        }?;
        drop((image, bend));
        let mut after = capture.acquire::<f64>(1)?;
        capture.fill_bytes(main, &mut after, 0)?;
        let next = after.device_pointer();
        let uses = [residual.read(), after.write()];
        // SAFETY: as above.
        unsafe { capture.enqueue(main, &uses, |stream| kernels.dot(stream, [r, r, next], rows)) }?;
        let uses = [after.read(), before.read(), residual.read(), direction.write()];
        let to = [next, rr, r, d];
        // SAFETY: as above.
        unsafe { capture.enqueue(main, &uses, |stream| kernels.scale_by_ratio(stream, to, rows)) }
    }

    /// Matrix, right-hand side, and zero as the first answer.
    pub(crate) fn write_start(
        &self,
        graph: &mut CapturedGraph,
        problem: &Problem,
    ) -> Result<(), CaptureError> {
        graph.write(&self.values, &problem.values)?;
        graph.write(&self.columns, &problem.columns)?;
        graph.write(&self.starts, &problem.starts)?;
        graph.write(&self.x, &vec![0.0_f64; self.rows])?;
        graph.write(&self.residual, &problem.right)?;
        graph.write(&self.direction, &problem.right)
    }

    /// The same steps, launched kernel by kernel; the answer.
    pub(crate) fn run_eagerly(
        &self,
        pool: &CUDAGraphMemoryPool,
        kernels: &Kernels,
        stream: &Arc<CudaStream>,
        problem: &Problem,
        steps: usize,
    ) -> Result<Vec<f64>, Box<dyn Error>> {
        let rows = self.rows;
        upload(stream, &self.values, &problem.values)?;
        upload(stream, &self.columns, &problem.columns)?;
        upload(stream, &self.starts, &problem.starts)?;
        upload(stream, &self.x, &vec![0.0_f64; rows])?;
        upload(stream, &self.residual, &problem.right)?;
        upload(stream, &self.direction, &problem.right)?;
        let [x, r, d] =
            [&self.x, &self.residual, &self.direction].map(GraphMemoryBlock::device_pointer);
        let image = pool.allocate((rows * size_of::<f64>()) as u64)?;
        let scalars = pool.allocate(3 * 256)?;
        let [q, rr] = [image.device_pointer(), scalars.device_pointer()];
        let [dq, next] = [rr + 256, rr + 512];
        for _ in 0..steps {
            // SAFETY: here and below, the addresses are of blocks that are as long, on one stream.
            unsafe { result::memset_d8_async(rr, 0, 3 * 256, stream.cu_stream()) }?;
            // SAFETY: as above.
            unsafe { kernels.multiply(stream, self.matrix(), d, q, rows) }?;
            // SAFETY: as above.
            unsafe { kernels.dot(stream, [r, r, rr], rows) }?;
            // SAFETY: as above.
            unsafe { kernels.dot(stream, [d, q, dq], rows) }?;
            // SAFETY: as above.
            unsafe { kernels.add_ratio(stream, [rr, dq, d, x], 1.0, rows) }?;
            // SAFETY: as above.
            unsafe { kernels.add_ratio(stream, [rr, dq, q, r], -1.0, rows) }?;
            // SAFETY: as above.
            unsafe { kernels.dot(stream, [r, r, next], rows) }?;
            // SAFETY: as above.
            unsafe { kernels.scale_by_ratio(stream, [next, rr, r, d], rows) }?;
        }
        let mut answer = vec![0.0_f64; rows];
        // SAFETY: the block is as long, and the answer stays until the stream has been waited for.
        unsafe { result::memcpy_dtoh_async(&mut answer, x, stream.cu_stream()) }?;
        stream.synchronize()?;
        Ok(answer)
    }
}

/// Copies to a block and waits.
fn upload<T: PodElement>(
    stream: &CudaStream,
    block: &GraphMemoryBlock,
    elements: &[T],
) -> Result<(), Box<dyn Error>> {
    let bytes: &[u8] = bytemuck::cast_slice(elements);
    // SAFETY: the block is as long, and the elements stay until the stream has been waited for.
    unsafe { result::memcpy_htod_async(block.device_pointer(), bytes, stream.cu_stream()) }?;
    stream.synchronize()?;
    Ok(())
}
