//! Copies to and from the blocks of a graph, and changes of its host arguments, that wait for the
//! device.

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
    /// Copies the first elements of a block or slice that the graph keeps to the host, after all
    /// earlier runs. The destination's length is the number of elements.
    ///
    /// Waits for them; [`enqueue_read`](Self::enqueue_read) does not. The elements pass through
    /// page-locked memory of the graph, as large as its largest copy: after an error the caller's
    /// elements are not changed.
    ///
    /// # Errors
    ///
    /// [`CaptureError::NotLeased`] if the graph does not keep the block, or the block is smaller;
    /// [`CaptureError::NotOwned`] if the same holds for a slice. [`CaptureError::WrongContext`] if it is another
    /// device's. An error if there is no page-locked memory; and as [`synchronize`](Self::synchronize).
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
        // SAFETY: a block that the graph holds, of that many bytes, and a buffer that is no
        // shorter, which is kept in either case. The stream is that of all its runs.
        let copied = unsafe { staged.read(address, bytes.len(), self.stream()) };
        // A hook of the allocator, or of the caller, may capture the stream from here on.
        drop(in_use);
        if copied.is_ok() {
            bytes.copy_from_slice(&staged.bytes_mut()[..bytes.len()]);
        }
        self.unstage(staged, copied)
    }

    /// Copies elements from the host to the start of a block or slice that the graph keeps for
    /// writing, after all earlier runs and before later ones. Waits for the copy;
    /// [`enqueue_write`](Self::enqueue_write) does not.
    ///
    /// # Errors
    ///
    /// Same as [`read`](Self::read), and [`CaptureError::SharedBlock`] if a graph of another stream has
    /// the block, too. If the driver fails, the block may be written later: it counts as one that
    /// the graph writes.
    pub fn write<T: PodElement>(
        &mut self,
        memory: &impl KeptMemoryMut,
        elements: &[T],
    ) -> Result<(), CaptureError> {
        let address = self.kept(memory, size_of_val(elements))?;
        let operation = "be written to";
        drop(self.check_stream(operation)?);
        // A graph of another stream may read the block at any time.
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
        // SAFETY: as in `read`.
        let copied = unsafe { staged.write(address, bytes.len(), self.stream()) };
        drop(in_use);
        if copied.is_err() {
            // The block may be written later.
            self.runs.parts()?.shares.keep(alone);
        }
        self.unstage(staged, copied)
    }

    /// Sets the source of a copy from the host, for later runs. Waits for the earlier runs, which
    /// read it. A number that changes with every run should be in a block, which
    /// [`enqueue_write`](Self::enqueue_write) writes without waiting.
    ///
    /// # Errors
    ///
    /// [`CaptureError::NoSuchArgument`] for an argument of another graph, or of another length; and
    /// as [`synchronize`](Self::synchronize).
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

    /// Returns the address of memory that the graph keeps, and that has at least `bytes` bytes.
    pub(super) fn kept(&self, memory: &impl KeptMemory, bytes: usize) -> Result<u64, CaptureError> {
        let own = self.stream().context();
        self.setup.resources().memory().address_of(memory.place(), bytes as u64, own)
    }

    /// Returns page-locked memory for a copy of these bytes; the context must be bound.
    fn stage(&mut self, bytes: &[u8]) -> Result<HostBuffer, CaptureError> {
        Ok(self.runs.parts()?.staged.take(bytes, self.setup.resources().stream().context())?)
    }

    /// Keeps the memory of a copy, which was waited for or may still be pending.
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
