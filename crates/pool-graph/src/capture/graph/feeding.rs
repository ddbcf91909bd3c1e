//! Copies to and from a graph's blocks that do not wait for the device. They pass through the
//! buffers of a staging pool, in the order of the stream that runs the graph.

use std::sync::Arc;

use pool_core::{PodElement, bytemuck};

use super::captured_graph::CapturedGraph;
use super::staging_pool::StagingPool;
use super::ticket::ReadTicket;
use crate::base::block::GraphMemoryBlock;
use crate::capture::error::CaptureError;

impl<S> CapturedGraph<S> {
    /// Enqueues a copy of elements to the start of a block that the graph keeps, after all earlier
    /// runs and before later ones. Waits for nothing. When the call returns, the elements are in a
    /// buffer of the staging pool, and the buffer is returned once they have been copied.
    ///
    /// From the first call on, the block counts as one that the graph writes, until an
    /// [`update`](Self::update) or the end of the graph. The reason is that the copy may still be
    /// pending when the call returns.
    ///
    /// ```no_run
    /// # use pool_graph::{CaptureError, CapturedGraph, GraphMemoryBlock, StagingConfig, StagingPool};
    /// # fn f(mut graph: CapturedGraph, input: GraphMemoryBlock, output: GraphMemoryBlock)
    /// # -> Result<(), CaptureError> {
    /// let config = StagingConfig { buffers: 3 * 2, bytes: 4096 };
    /// let mut staging = StagingPool::with_config(graph.stream().context(), config)?;
    /// let mut step = |sample: &[f32]| {
    ///     graph.enqueue_write(&mut staging, &input, sample)?;
    ///     graph.replay()?;
    ///     graph.enqueue_read::<f32>(&mut staging, &output, sample.len())
    /// };
    /// let mut first = step(&[1.0; 1024])?;
    /// let mut second = step(&[2.0; 1024])?; // while the first one runs
    /// let results = [first.wait()?, second.wait()?]; // here alone the host waits
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// Fails with [`CaptureError::StagingExhausted`] if all buffers are in use, with
    /// [`CaptureError::StagingTooSmall`] if the elements do not fit in one buffer, or with
    /// [`CaptureError::WrongContext`] if the staging pool belongs to another context. It also fails
    /// for the same reasons as [`write`](Self::write). If the error comes from the driver, the copy
    /// may have been enqueued and may write the block. After any other error, nothing has been
    /// enqueued.
    pub fn enqueue_write<T: PodElement>(
        &mut self,
        staging: &mut StagingPool,
        block: &GraphMemoryBlock,
        elements: &[T],
    ) -> Result<(), CaptureError> {
        let operation = "be written to";
        let bytes: &[u8] = bytemuck::cast_slice(elements);
        let address = self.kept(block, bytes.len())?;
        self.check_staging(staging)?;
        if bytes.is_empty() {
            return self.check_stream(operation).map(drop);
        }
        let mut buffer = staging.take(bytes.len())?;
        if let Some(staged) = buffer.bytes_mut().get_mut(..bytes.len()) {
            staged.copy_from_slice(bytes);
        }
        self.keep_writing(block, operation)?;
        let _in_use = self.check_stream(operation)?;
        // SAFETY: the graph holds a block of that many bytes at `address`. All readers and writers
        // of the block are on this stream, and the graph holds the block until the stream's work is
        // done.
        Ok(unsafe { buffer.copy_to_device(address, bytes.len(), self.stream()) }?)
    }

    /// Enqueues a copy of the first elements of a block that the graph keeps, after all earlier
    /// runs and before later ones. Waits for nothing. When you need the elements, query the ticket
    /// or wait for it.
    ///
    /// The element type must not be zero-sized, and its alignment must be at most 256. Otherwise
    /// the call does not compile.
    ///
    /// # Errors
    ///
    /// Fails for the same reasons as [`enqueue_write`](Self::enqueue_write) and
    /// [`read`](Self::read), or with [`CaptureError::SizeOverflow`]. After an error no ticket is
    /// returned. If a copy may be pending, its buffer is not reused until that copy has completed.
    pub fn enqueue_read<T: PodElement>(
        &mut self,
        staging: &mut StagingPool,
        block: &GraphMemoryBlock,
        elements: usize,
    ) -> Result<ReadTicket<T>, CaptureError> {
        const { assert!(size_of::<T>() > 0 && align_of::<T>() <= 256, "not an element of a block") };
        let operation = "be read from";
        let size = size_of::<T>();
        let bytes =
            elements.checked_mul(size).ok_or(CaptureError::SizeOverflow { elements, size })?;
        let address = self.kept(block, bytes)?;
        self.check_staging(staging)?;
        if bytes == 0 {
            return self.check_stream(operation).map(|_| ReadTicket::EMPTY);
        }
        let mut buffer = staging.take(bytes)?;
        let in_use = self.check_stream(operation)?;
        // SAFETY: the graph holds a block of that many bytes at `address`, until the stream's work
        // is done. All writers of the block are on this stream.
        let copied = unsafe { buffer.copy_to_host(address, bytes, self.stream()) };
        drop(in_use);
        copied?;
        Ok(ReadTicket::new(buffer, bytes))
    }

    /// Fails if the staging pool belongs to another context, because the events after its copies
    /// belong to that context.
    fn check_staging(&self, staging: &StagingPool) -> Result<(), CaptureError> {
        let (own, other) = (self.stream().context(), staging.context());
        if Arc::ptr_eq(own, other) || own.cu_ctx() == other.cu_ctx() {
            return Ok(());
        }
        Err(CaptureError::WrongContext { session: own.ordinal(), other: other.ordinal() })
    }

    /// Records that this graph writes the block, so that no graph on another stream can use it from
    /// then on.
    fn keep_writing(
        &mut self,
        block: &GraphMemoryBlock,
        operation: &'static str,
    ) -> Result<(), CaptureError> {
        if self.runs.parts()?.shares.writes(block.id()) {
            return Ok(());
        }
        // This is only a check: an operation that is refused because of a capture writes nothing.
        drop(self.check_stream(operation)?);
        let stream = Arc::clone(self.stream());
        self.runs.parts()?.shares.add(block.id(), &stream, true)
    }
}
