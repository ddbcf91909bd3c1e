//! Copies to and from a graph's blocks, and changes of its host arguments, that wait for the
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
    /// earlier runs. The length of the destination is the number of elements.
    ///
    /// Waits for the copy; [`enqueue_read`](Self::enqueue_read) does not. The elements pass through
    /// page-locked memory that the graph keeps, as large as its largest copy. After an error the
    /// destination is unchanged.
    ///
    /// # Errors
    ///
    /// Fails with [`CaptureError::NotLeased`] if the graph does not keep the block, or if the block
    /// is too small. In the same cases, a slice fails with [`CaptureError::NotOwned`]. Memory on
    /// another device fails with [`CaptureError::WrongContext`]. The call also fails if no
    /// page-locked memory can be allocated, and for the same reasons as
    /// [`synchronize`](Self::synchronize).
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
        // SAFETY: the graph holds a block of that many bytes at `address`. The staging buffer is at
        // least as long, and is kept whether the copy succeeds or fails. All runs of the graph are
        // on this stream.
        let copied = unsafe { staged.read(address, bytes.len(), self.stream()) };
        // From here on, an allocator hook or other code of the caller may capture the stream.
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
    /// Fails for the same reasons as [`read`](Self::read), or with [`CaptureError::SharedBlock`] if
    /// a graph on another stream also uses the block. If the driver fails, the copy may still write
    /// the block later, so the block counts as one that the graph writes.
    pub fn write<T: PodElement>(
        &mut self,
        memory: &impl KeptMemoryMut,
        elements: &[T],
    ) -> Result<(), CaptureError> {
        let address = self.kept(memory, size_of_val(elements))?;
        let operation = "be written to";
        drop(self.check_stream(operation)?);
        // A graph on another stream may read the block at any time.
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
        // SAFETY: the graph holds a block of that many bytes at `address`. The staging buffer is at
        // least as long, and is kept whether the copy succeeds or fails. All runs of the graph are
        // on this stream.
        let copied = unsafe { staged.write(address, bytes.len(), self.stream()) };
        drop(in_use);
        if copied.is_err() {
            // The copy may still write the block later.
            self.runs.parts()?.shares.keep(alone);
        }
        self.unstage(staged, copied)
    }

    /// Sets the source of a copy from the host, for later runs. Waits for the earlier runs, because
    /// they read the old source. If a value changes with every run, keep it in a block, which
    /// [`enqueue_write`](Self::enqueue_write) writes without waiting.
    ///
    /// # Errors
    ///
    /// Fails with [`CaptureError::NoSuchArgument`] if the argument belongs to another graph or has
    /// another length. It also fails for the same reasons as [`synchronize`](Self::synchronize).
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

    /// Returns the address of memory that the graph keeps. Fails if the memory has fewer than
    /// `bytes` bytes.
    pub(super) fn kept(&self, memory: &impl KeptMemory, bytes: usize) -> Result<u64, CaptureError> {
        let own = self.stream().context();
        self.setup.resources().memory().address_of(memory.place(), bytes as u64, own)
    }

    /// Returns page-locked memory that is large enough for these bytes. The context must be bound.
    fn stage(&mut self, bytes: &[u8]) -> Result<HostBuffer, CaptureError> {
        Ok(self.runs.parts()?.staged.take(bytes, self.setup.resources().stream().context())?)
    }

    /// Keeps the memory of a copy, which has been waited for or may still be pending.
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
