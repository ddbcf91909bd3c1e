//! Nonblocking copies to and from a graph's blocks. These copies use a staging pool's buffers and
//! run on the graph's stream.

use std::sync::Arc;

use pool_core::{PodElement, bytemuck};

use super::captured_graph::CapturedGraph;
use super::staging_pool::StagingPool;
use super::ticket::ReadTicket;
use crate::base::block::GraphMemoryBlock;
use crate::capture::error::CaptureError;

impl<S> CapturedGraph<S> {
    /// Enqueues a copy of `elements` to the start of a block that the graph retains. The copy runs
    /// after all earlier runs of the graph and before all later ones. The call does not wait for
    /// the copy to finish. When the call returns, one of the staging pool's buffers contains the
    /// elements. The staging buffer becomes available again once the copy has completed.
    ///
    /// The first call records that this graph writes to the block, because a copy might still be
    /// pending when the call returns. The graph counts as a writer of the block until the next
    /// [`update`](Self::update), or until the graph is dropped.
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
    /// Returns [`CaptureError::StagingExhausted`] if all buffers are in use, or
    /// [`CaptureError::StagingTooSmall`] if the elements do not fit into one buffer. Returns
    /// [`CaptureError::WrongContext`] if the staging pool belongs to another context. The call also
    /// returns the same errors as [`write`](Self::write). If the error comes from the driver, the
    /// copy might have been enqueued and might still write to the block. If any other error occurs,
    /// nothing has been enqueued.
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
        // SAFETY: the graph retains a block of at least this size at `address` until the stream's
        // work has completed. All work that reads or writes the block runs on this stream.
        Ok(unsafe { buffer.copy_to_device(address, bytes.len(), self.stream()) }?)
    }

    /// Enqueues a copy of the first `elements` elements of a block that the graph retains. The copy
    /// runs after all earlier runs of the graph and before all later ones. The call does not wait
    /// for the copy to finish. Once the copy has completed, the returned ticket provides the
    /// elements.
    ///
    /// The element type must not be zero-sized, and its alignment must not exceed 256 bytes. For
    /// any other element type, the call does not compile.
    ///
    /// # Errors
    ///
    /// Returns the same errors as [`enqueue_write`](Self::enqueue_write) and [`read`](Self::read),
    /// or [`CaptureError::SizeOverflow`] if the size exceeds the address space. If a copy is still
    /// pending after an error, its buffer is not reused until the copy has completed.
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
        // SAFETY: the graph retains a block of at least this size at `address` until the stream's
        // work has completed. All work that writes to the block runs on this stream.
        let copied = unsafe { buffer.copy_to_host(address, bytes, self.stream()) };
        drop(in_use);
        copied?;
        Ok(ReadTicket::new(buffer, bytes))
    }

    /// Returns an error if the staging pool belongs to another context. The pool's events belong to
    /// its context and cannot be recorded on a stream of another context.
    fn check_staging(&self, staging: &StagingPool) -> Result<(), CaptureError> {
        let (own, other) = (self.stream().context(), staging.context());
        if Arc::ptr_eq(own, other) || own.cu_ctx() == other.cu_ctx() {
            return Ok(());
        }
        Err(CaptureError::WrongContext { session: own.ordinal(), other: other.ordinal() })
    }

    /// Records that this graph writes to the block. Afterward, no graph on another stream can use
    /// the block.
    fn keep_writing(
        &mut self,
        block: &GraphMemoryBlock,
        operation: &'static str,
    ) -> Result<(), CaptureError> {
        if self.runs.parts()?.shares.writes(block.id()) {
            return Ok(());
        }
        // At this point, the stream has been checked, but nothing has been recorded. An operation
        // that fails because of an active capture writes nothing and must not mark the block as
        // written.
        drop(self.check_stream(operation)?);
        let stream = Arc::clone(self.stream());
        self.runs.parts()?.shares.add(block.id(), &stream, true)
    }
}
