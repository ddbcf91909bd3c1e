//! Copies any number of bytes within one buffer or between two buffers.

use super::Recorder;
use super::fill::words;
use crate::binding::Access;
use crate::error::WgpuError;
use crate::memory::Allocation;

/// The size, in bytes, of the scratch buffer for copies within a large buffer.
const SCRATCH: u64 = 1 << 20;

const COPY: &str = concat!(include_str!("copy.wgsl"), include_str!("copy_between.wgsl"));
const COPY_WITHIN: &str = concat!(include_str!("copy.wgsl"), include_str!("copy_within.wgsl"));

/// A position in a buffer, given by the buffer and a byte offset.
type BufferPosition<'a> = (&'a Allocation, u64);

impl Recorder<'_> {
    /// Copies bytes from one range to another. Both ranges must be within their buffers and must
    /// not overlap.
    ///
    /// # Errors
    ///
    /// Returns the same device-related errors as [`Stream::dispatch`](crate::Stream::dispatch).
    pub(crate) fn copy(
        &mut self,
        from: BufferPosition<'_>,
        to: BufferPosition<'_>,
        bytes: u64,
    ) -> Result<(), WgpuError> {
        if bytes == 0 {
            return Ok(());
        }
        if from.0.identity == to.0.identity {
            return self.copy_within(to.0, from.1, to.1, bytes);
        }
        let is_of_words = [from.1, to.1, bytes].iter().all(|number| number.is_multiple_of(4));
        if is_of_words && !self.is_in_pass() {
            let encoder = self.encoder(&[from.0, to.0])?;
            encoder.copy_buffer_to_buffer(&from.0.buffer, from.1, &to.0.buffer, to.1, bytes);
            return Ok(());
        }
        self.copy_by_kernel(from, to, bytes)
    }

    fn copy_by_kernel(
        &mut self,
        from: BufferPosition<'_>,
        to: BufferPosition<'_>,
        bytes: u64,
    ) -> Result<(), WgpuError> {
        let accesses = [Access::ReadWrite, Access::Read];
        let kernel = self.own_kernel(|own| &mut own.copy, COPY, &accesses)?;
        let mut done = 0;
        while done < bytes {
            let (from_at, to_at) = (from.1 + done, to.1 + done);
            let (from_window, to_window) = (self.window(from.0, from_at), self.window(to.0, to_at));
            let room = (from_window.end - from_at).min(to_window.end - to_at);
            let count = room.min(bytes - done);
            let bindings = [
                to_window.binding(to.0, Access::ReadWrite),
                from_window.binding(from.0, Access::Read),
            ];
            let parameters = words([from_at - from_window.base, to_at - to_window.base, count, 0]);
            let groups = self.groups(count.div_ceil(4) + 1);
            self.dispatch(&kernel, &bindings, &parameters, groups)?;
            done += count;
        }
        Ok(())
    }

    fn copy_within(
        &mut self,
        allocation: &Allocation,
        from: u64,
        to: u64,
        bytes: u64,
    ) -> Result<(), WgpuError> {
        let window = self.window(allocation, 0);
        if window.end < allocation.bytes {
            return self.copy_through_scratch(allocation, from, to, bytes);
        }
        let kernel =
            self.own_kernel(|own| &mut own.copy_within, COPY_WITHIN, &[Access::ReadWrite])?;
        let binding = window.binding(allocation, Access::ReadWrite);
        let groups = self.groups(bytes.div_ceil(4) + 1);
        self.dispatch(&kernel, &[binding], &words([from, to, bytes, 0]), groups)
    }

    /// Copies bytes within a buffer via a scratch buffer, because a single binding cannot cover
    /// both ranges.
    fn copy_through_scratch(
        &mut self,
        allocation: &Allocation,
        from: u64,
        to: u64,
        bytes: u64,
    ) -> Result<(), WgpuError> {
        self.with_scratch(|recorder, scratch| {
            let mut done = 0;
            while done < bytes {
                let count = scratch.bytes.min(bytes - done);
                recorder.copy((allocation, from + done), (scratch, 0), count)?;
                recorder.copy((scratch, 0), (allocation, to + done), count)?;
                done += count;
            }
            Ok(())
        })
    }

    fn with_scratch(
        &mut self,
        code: impl FnOnce(&mut Self, &Allocation) -> Result<(), WgpuError>,
    ) -> Result<(), WgpuError> {
        let scratch = match self.recording.scratch.take() {
            Some(scratch) => scratch,
            None => self.create_scratch()?,
        };
        let answer = code(self, &scratch);
        self.recording.scratch = Some(scratch);
        answer
    }

    fn create_scratch(&self) -> Result<Allocation, WgpuError> {
        let descriptor = wgpu::BufferDescriptor {
            label: Some("pool-wgpu scratch"),
            size: SCRATCH.min(self.setup.limits.binding & !255).max(256),
            usage: wgpu::BufferUsages::STORAGE
                | wgpu::BufferUsages::COPY_SRC
                | wgpu::BufferUsages::COPY_DST,
            mapped_at_creation: false,
        };
        let buffer = self.setup.calls.create_buffer(&descriptor, self.setup.limits.buffer)?;
        self.setup.counters.staging_buffers_created.step();
        let identity = Allocation::new_identity(buffer.size());
        Ok(Allocation::new(buffer, identity, self.setup.number))
    }
}
