//! The method's arrays, and its step as the body of a capture. The step exists in two versions:
//! with temporaries of the capture, which share bytes, and with a scope.

use std::error::Error;

use pool_facade::pool_graph::{
    BlockId, CUDAGraphMemoryPool, Capture, CaptureError, CapturedGraph, GraphMemoryBlock,
};

use crate::kernels::Kernels;
use crate::problem::Problem;
use crate::step::{Arrays, step};

/// The arrays that persist from step to step: the matrix and three vectors.
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
            values: pool.allocate(size_of_val(problem.matrix.values()) as u64)?,
            columns: pool.allocate(size_of_val(problem.matrix.columns()) as u64)?,
            starts: pool.allocate(size_of_val(problem.matrix.starts()) as u64)?,
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
        [&self.values, &self.columns, &self.starts].map(GraphMemoryBlock::address)
    }

    /// Runs one step with temporaries of the capture. Each is freed after its last use.
    #[expect(
        clippy::multiple_unsafe_ops_per_block,
        reason = "the launch and its enqueueing share one promise: the declared uses are correct"
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
        let [r, d] = [residual.address(), direction.address()];

        let mut image = capture.acquire::<f64>(rows)?;
        let q = image.address();
        let uses = [values.read(), columns.read(), starts.read(), direction.read(), image.write()];
        // SAFETY: here and below, the kernel accesses only the memory in its declared uses, on this
        // stream.
        unsafe {
            capture.enqueue(main, &uses, |stream| kernels.multiply(stream, matrix, d, q, rows))
        }?;
        let mut before = capture.acquire::<f64>(1)?;
        capture.fill_bytes(main, &mut before, 0)?;
        let rr = before.address();
        let uses = [residual.read(), before.write()];
        // SAFETY: the kernel accesses only the memory in its declared uses, on this stream.
        unsafe { capture.enqueue(main, &uses, |stream| kernels.dot(stream, [r, r, rr], rows)) }?;
        let mut bend = capture.acquire::<f64>(1)?;
        capture.fill_bytes(main, &mut bend, 0)?;
        let dq = bend.address();
        let uses = [direction.read(), image.read(), bend.write()];
        // SAFETY: the kernel accesses only the memory in its declared uses, on this stream.
        unsafe { capture.enqueue(main, &uses, |stream| kernels.dot(stream, [d, q, dq], rows)) }?;
        let to = [rr, dq, d, x.address()];
        let uses = [before.read(), bend.read(), direction.read(), x.write()];
        // SAFETY: the kernel accesses only the memory in its declared uses, on this stream.
        unsafe { capture.enqueue(main, &uses, |stream| kernels.add_ratio(stream, to, 1.0, rows)) }?;
        let uses = [before.read(), bend.read(), image.read(), residual.write()];
        let to = [rr, dq, q, r];
        // SAFETY: the kernel accesses only the memory in its declared uses, on this stream.
        unsafe {
            capture.enqueue(main, &uses, |stream| kernels.add_ratio(stream, to, -1.0, rows))
        }?;
        drop((image, bend));
        let mut after = capture.acquire::<f64>(1)?;
        capture.fill_bytes(main, &mut after, 0)?;
        let next = after.address();
        let uses = [residual.read(), after.write()];
        // SAFETY: the kernel accesses only the memory in its declared uses, on this stream.
        unsafe { capture.enqueue(main, &uses, |stream| kernels.dot(stream, [r, r, next], rows)) }?;
        let uses = [after.read(), before.read(), residual.read(), direction.write()];
        let to = [next, rr, r, d];
        // SAFETY: the kernel accesses only the memory in its declared uses, on this stream.
        unsafe { capture.enqueue(main, &uses, |stream| kernels.scale_by_ratio(stream, to, rows)) }
    }

    /// Captures the step of the eager run, unchanged.
    pub(crate) fn step_in_a_scope(
        &self,
        capture: &Capture<'_>,
        kernels: &Kernels,
    ) -> Result<(), CaptureError> {
        let main = capture.main();
        let mut values = capture.block(&self.values)?;
        let [mut columns, mut starts] =
            [capture.block(&self.columns)?, capture.block(&self.starts)?];
        let mut x = capture.block(&self.x)?;
        let mut residual = capture.block(&self.residual)?;
        let mut direction = capture.block(&self.direction)?;
        let values = capture.lend(main, &mut values)?;
        let columns = capture.lend(main, &mut columns)?;
        let starts = capture.lend(main, &mut starts)?;
        let mut x = capture.lend(main, &mut x)?;
        let mut residual = capture.lend(main, &mut residual)?;
        let mut direction = capture.lend(main, &mut direction)?;
        let mut arrays = Arrays {
            values: values.view()?,
            columns: columns.view()?,
            starts: starts.view()?,
            x: x.view_mut()?,
            residual: residual.view_mut()?,
            direction: direction.view_mut()?,
        };
        capture.scope(main, |scope| step(scope, kernels, &mut arrays))
    }

    /// Writes the matrix and the right-hand side, and zero as the first iterate.
    pub(crate) fn write_start(
        &self,
        graph: &mut CapturedGraph,
        problem: &Problem,
    ) -> Result<(), CaptureError> {
        graph.write(&self.values, problem.matrix.values())?;
        graph.write(&self.columns, problem.matrix.columns())?;
        graph.write(&self.starts, problem.matrix.starts())?;
        graph.write(&self.x, &vec![0.0_f64; self.rows])?;
        graph.write(&self.residual, &problem.right)?;
        graph.write(&self.direction, &problem.right)
    }
}
