//! Blocking copies to and from a graph's blocks, and methods that change the graph's host
//! arguments.

use pool_core::{PodElement, bytemuck};
use pool_driver::error::CudaError;
use pool_driver::host_buffer::HostBuffer;

use super::captured_graph::CapturedGraph;
use super::runs::Parts;
use crate::capture::body::HostArgument;
use crate::capture::error::CaptureError;
use crate::capture::memory::{KeptMemory, KeptMemoryMut, KeptPlace};
use crate::capture::sharing::Shares;

impl<S> CapturedGraph<S> {
    /// Copies the first elements of a block or slice from the device to the host. The graph must
    /// retain this block or slice. The copy runs after all earlier runs of the graph. The length of
    /// `elements` is the number of elements to copy.
    ///
    /// The call blocks the host until the copy has completed. [`enqueue_read`](Self::enqueue_read)
    /// copies data without blocking the host. The elements are first copied to a page-locked buffer
    /// that the graph retains for later copies. If the call fails, `elements` stays unchanged.
    ///
    /// # Errors
    ///
    /// Returns [`CaptureError::NotLeased`] if the graph does not retain the block, or if the block
    /// is too small. Returns [`CaptureError::NotOwned`] if the graph does not retain the slice, or
    /// if the slice is too small. Returns [`CaptureError::WrongContext`] if the memory is on
    /// another device. The call also fails if the host cannot allocate page-locked memory. The call
    /// also returns the same errors as [`synchronize`](Self::synchronize).
    pub fn read<T: PodElement>(
        &mut self,
        memory: &impl KeptMemory,
        elements: &mut [T],
    ) -> Result<(), CaptureError> {
        let address = self.kept(memory, size_of_val(elements))?;
        let operation = "be read from";
        drop(self.check_stream(operation)?);
        let bytes = bytemuck::cast_slice_mut(elements);
        if bytes.is_empty() {
            return Ok(());
        }
        let mut staged = self.stage(bytes)?;
        let in_use = self.check_stream(operation)?;
        // SAFETY: the graph retains memory of at least this size at `address`. The staging buffer
        // is at least as large as the copy, and the graph retains it even if the copy fails. All
        // runs of the graph use this stream.
        let copied = unsafe { staged.read(address, bytes.len(), self.stream()) };
        // From here on, the caller's code (for example, an allocator hook) may capture the stream.
        drop(in_use);
        if copied.is_ok() {
            bytes.copy_from_slice(&staged.bytes_mut()[..bytes.len()]);
        }
        self.unstage(staged, copied)
    }

    /// Copies elements from the host to the start of a block or slice that the graph retains and
    /// can write to. The copy runs after all earlier runs of the graph and before all later runs.
    /// The call blocks the host until the copy has completed.
    /// [`enqueue_write`](Self::enqueue_write) copies data without blocking the host.
    ///
    /// # Errors
    ///
    /// Returns the same errors as [`read`](Self::read), or [`CaptureError::SharedBlock`] if a graph
    /// on another stream also uses the block. If the error comes from the driver, the copy might
    /// still write to the block later. This graph is therefore recorded as a writer of the block.
    pub fn write<T: PodElement>(
        &mut self,
        memory: &impl KeptMemoryMut,
        elements: &[T],
    ) -> Result<(), CaptureError> {
        let address = self.kept(memory, size_of_val(elements))?;
        let operation = "be written to";
        drop(self.check_stream(operation)?);
        // No graph on another stream may use the block, because such a graph could read it at any
        // time.
        let mut alone = Shares::default();
        if let KeptPlace::Block(block) = memory.place() {
            alone.add(block.id(), self.stream(), true)?;
        }
        let bytes: &[u8] = bytemuck::cast_slice(elements);
        if bytes.is_empty() {
            return Ok(());
        }
        let mut staged = self.stage(bytes)?;
        staged.bytes_mut()[..bytes.len()].copy_from_slice(bytes);
        let in_use = self.check_stream(operation)?;
        // SAFETY: the graph retains memory of at least this size at `address`. The staging buffer
        // is at least as large as the copy, and the graph retains it even if the copy fails. All
        // runs of the graph use this stream.
        let copied = unsafe { staged.write(address, bytes.len(), self.stream()) };
        drop(in_use);
        if copied.is_err() {
            // A failed copy might still write to the block later, so the graph remains recorded as
            // one of the block's writers.
            self.runs.parts()?.shares.keep(alone);
        }
        self.unstage(staged, copied)
    }

    /// Sets the elements that later runs copy from the host. The call blocks the host until all
    /// earlier runs have completed, because these runs read the old elements. If a value changes
    /// with every run, store it in a block, because [`enqueue_write`](Self::enqueue_write) writes
    /// to a block without waiting.
    ///
    /// # Errors
    ///
    /// Returns [`CaptureError::NoSuchArgument`] if the argument belongs to another graph or has a
    /// different length. The call also returns the same errors as
    /// [`synchronize`](Self::synchronize).
    pub fn set_argument<T: PodElement>(
        &mut self,
        argument: HostArgument,
        elements: &[T],
    ) -> Result<(), CaptureError> {
        self.synchronize()?;
        let bytes: &[u8] = bytemuck::cast_slice(elements);
        let HostArgument { capture, number } = argument;
        let is_own = capture == self.pattern.capture;
        let Parts { host, arguments, .. } = self.runs.parts()?;
        let none = CaptureError::NoSuchArgument { asked: number, arguments: arguments.len() };
        let Some(place) = arguments.get(number).filter(|_| is_own) else { return Err(none) };
        match place.and_then(|place| host.get_mut(place)).and_then(Option::as_mut) {
            None if bytes.is_empty() => Ok(()),
            Some(buffer) if buffer.len() == bytes.len() => {
                buffer.bytes_mut().copy_from_slice(bytes);
                Ok(())
            }
            _ => Err(none),
        }
    }

    /// Returns the address of memory that the graph retains. Returns an error if the memory is
    /// smaller than `bytes` bytes.
    pub(super) fn kept(&self, memory: &impl KeptMemory, bytes: usize) -> Result<u64, CaptureError> {
        let own = self.stream().context();
        self.setup.resources().memory().address_of(memory.place(), bytes as u64, own)
    }

    /// Returns a page-locked buffer that is at least as large as `bytes`. The caller must already
    /// have made the context current on this thread.
    fn stage(&mut self, bytes: &[u8]) -> Result<HostBuffer, CaptureError> {
        Ok(self.runs.parts()?.staged.take(bytes, self.setup.resources().stream().context())?)
    }

    /// Retains a copy's buffer. If the copy has completed, the next copy can reuse the buffer. If
    /// the copy might still be pending, the graph retains the buffer until the stream has been
    /// synchronized.
    fn unstage(
        &mut self,
        buffer: HostBuffer,
        copied: Result<(), CudaError>,
    ) -> Result<(), CaptureError> {
        let staged = &mut self.runs.parts()?.staged;
        match copied {
            Ok(()) => staged.done(buffer),
            Err(_) => staged.pending(buffer),
        }
        Ok(copied?)
    }
}
