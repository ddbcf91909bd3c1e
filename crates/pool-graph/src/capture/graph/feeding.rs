//! Copies to and from the blocks of a graph that wait for nothing: through the buffers of a pool,
//! in the order of the runs' stream.

use std::sync::Arc;

use pool_core::{PodElement, bytemuck};

use super::captured_graph::CapturedGraph;
use super::staging_pool::StagingPool;
use super::ticket::ReadTicket;
use crate::base::block::GraphMemoryBlock;
use crate::capture::error::CaptureError;

impl<S> CapturedGraph<S> {
    /// Enqueues a copy of elements to the start of a block that the graph keeps, after all earlier
    /// runs and before later ones. Waits for nothing: when this returns, the elements are in a
    /// buffer of the pool, which is returned once they are copied.
    ///
    /// From the first call on, the block counts as one that the graph writes, until an
    /// [`update`](Self::update) or the graph's end: the copy may still be pending when this
    /// returns.
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
    /// [`CaptureError::StagingExhausted`] if all buffers are in use,
    /// [`CaptureError::StagingTooSmall`] for more bytes than a buffer has,
    /// [`CaptureError::WrongContext`] for a pool of another context; and as [`write`](Self::write).
    /// After an error nothing was enqueued, unless it is the driver's: then the block may be
    /// written.
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
        // SAFETY: a block that the graph holds, of that many bytes, whose readers and writers are
        // all on this stream; the graph holds it until the stream's work is done.
        Ok(unsafe { buffer.copy_to_device(address, bytes.len(), self.stream()) }?)
    }

    /// Enqueues a copy of the first elements of a block that the graph keeps, after all earlier
    /// runs and before later ones. Waits for nothing: query the ticket, or wait for it, when the
    /// elements are needed.
    ///
    /// An element must have a size, and an alignment of at most 256; else this does not compile.
    ///
    /// # Errors
    ///
    /// Same as [`enqueue_write`](Self::enqueue_write) and [`read`](Self::read), and
    /// [`CaptureError::SizeOverflow`]. After an error there is no ticket, and a buffer with a
    /// possibly pending copy is not used before that is done.
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
        // SAFETY: as in `enqueue_write`, with reading.
        let copied = unsafe { buffer.copy_to_host(address, bytes, self.stream()) };
        drop(in_use);
        copied?;
        Ok(ReadTicket::new(buffer, bytes))
    }

    /// Refuses a pool of another context: the events after its copies are of that context.
    fn check_staging(&self, staging: &StagingPool) -> Result<(), CaptureError> {
        let (own, other) = (self.stream().context(), staging.context());
        if Arc::ptr_eq(own, other) || own.cu_ctx() == other.cu_ctx() {
            return Ok(());
        }
        Err(CaptureError::WrongContext { session: own.ordinal(), other: other.ordinal() })
    }

    /// Records that this graph writes the block, so that from here on no graph of another stream
    /// has it.
    fn keep_writing(
        &mut self,
        block: &GraphMemoryBlock,
        operation: &'static str,
    ) -> Result<(), CaptureError> {
        if self.runs.parts()?.shares.writes(block.id()) {
            return Ok(());
        }
        // It is only a check: an operation refused because of a capture writes nothing.
        drop(self.check_stream(operation)?);
        let stream = Arc::clone(self.stream());
        self.runs.parts()?.shares.add(block.id(), &stream, true)
    }
}
