//! Fills: a pattern of bytes written repeatedly, from any byte to any other. A word that is filled
//! in part keeps its other bytes.

use super::Recorder;
use crate::binding::{Access, Binding};
use crate::error::WgpuError;
use crate::kernel::Kernel;
use crate::memory::Allocation;

/// The maximum bytes of a pattern in the kernel's parameters.
pub(super) const PATTERN_BYTES: usize = 192;
/// Bytes of the kernel's other parameters.
const HEAD_BYTES: usize = 16;
/// The number of invocations in a workgroup of the stream's own kernels.
const WORKGROUP: u64 = 64;
/// The maximum bytes that one dispatch binds of a large buffer, so that offsets in it have 32 bits.
const WINDOW: u64 = 1 << 30;

const FILL: &str = include_str!("fill.wgsl");

/// The part of a buffer that one dispatch of the stream's own kernels binds.
#[derive(Clone, Copy, Debug)]
pub(super) struct Window {
    /// The start of the part in the buffer, in bytes.
    pub(super) base: u64,
    /// The exclusive end of the part in the buffer, in bytes.
    pub(super) end: u64,
}

impl Recorder<'_> {
    /// Writes an element repeatedly, from one byte of a buffer to before another. Both are in the
    /// buffer.
    ///
    /// # Errors
    ///
    /// The device's errors among those of [`Stream::dispatch`](crate::Stream::dispatch).
    pub(crate) fn fill(
        &mut self,
        allocation: &Allocation,
        start: u64,
        end: u64,
        element: &[u8],
    ) -> Result<(), WgpuError> {
        if start >= end || element.is_empty() {
            return Ok(());
        }
        let is_zero = element.iter().all(|byte| *byte == 0);
        if is_zero {
            return self.zero(allocation, start, end);
        }
        let period = element.len() * (4 / gcd(element.len(), 4));
        if period > PATTERN_BYTES {
            return self.fill_by_doubling(allocation, start, end, element);
        }
        // The pattern begins with the first word; the element may begin at another byte of that
        // word.
        let first = period - usize_of(start % 4) % period;
        let mut pattern = [0; PATTERN_BYTES];
        for (at, byte) in pattern[..period].iter_mut().enumerate() {
            *byte = element[(first + at) % element.len()];
        }
        self.repeat(allocation, start, end, &pattern[..period])
    }

    fn zero(&mut self, allocation: &Allocation, start: u64, end: u64) -> Result<(), WgpuError> {
        let is_of_words = start.is_multiple_of(4) && end.is_multiple_of(4);
        if self.is_in_pass() || !is_of_words {
            return self.repeat(allocation, start, end, &[0; 4]);
        }
        let encoder = self.encoder(&[allocation])?;
        encoder.clear_buffer(&allocation.buffer, start, Some(end - start));
        Ok(())
    }

    /// Writes bytes, at most [`PATTERN_BYTES`] including those before them in their first word.
    pub(super) fn write_few(
        &mut self,
        allocation: &Allocation,
        start: u64,
        bytes: &[u8],
    ) -> Result<(), WgpuError> {
        let shift = usize_of(start % 4);
        let mut pattern = [0; PATTERN_BYTES];
        pattern[shift..shift + bytes.len()].copy_from_slice(bytes);
        let period = (shift + bytes.len()).next_multiple_of(4);
        self.repeat(allocation, start, start + bytes.len() as u64, &pattern[..period])
    }

    /// Writes an element that is too long for the kernel's parameters, and then repeatedly doubles
    /// the bytes written.
    fn fill_by_doubling(
        &mut self,
        allocation: &Allocation,
        start: u64,
        end: u64,
        element: &[u8],
    ) -> Result<(), WgpuError> {
        let first = usize_of((end - start).min(element.len() as u64));
        self.upload(allocation, start, &element[..first])?;
        let mut filled = first as u64;
        while filled < end - start {
            let more = filled.min(end - start - filled);
            self.copy((allocation, start), (allocation, start + filled), more)?;
            filled += more;
        }
        Ok(())
    }

    /// Writes a pattern of whole words, whose first word goes to the word that contains `start`.
    fn repeat(
        &mut self,
        allocation: &Allocation,
        start: u64,
        end: u64,
        pattern: &[u8],
    ) -> Result<(), WgpuError> {
        let kernel = self.own_kernel(|own| &mut own.fill, FILL, &[Access::ReadWrite])?;
        let (first_word, period) = (start / 4, (pattern.len() / 4) as u64);
        let mut at = start;
        while at < end {
            let window = self.window(allocation, at);
            let last = end.min(window.end);
            let phase = (at / 4 - first_word) % period;
            let head = words([at - window.base, last - window.base, period, phase]);
            let mut parameters = [0; HEAD_BYTES + PATTERN_BYTES];
            parameters[..HEAD_BYTES].copy_from_slice(&head);
            parameters[HEAD_BYTES..HEAD_BYTES + pattern.len()].copy_from_slice(pattern);
            let binding = window.binding(allocation, Access::ReadWrite);
            let groups = self.groups(last.div_ceil(4) - at / 4);
            let parameters = &parameters[..HEAD_BYTES + pattern.len()];
            self.dispatch(&kernel, &[binding], parameters, groups)?;
            at = last;
        }
        Ok(())
    }

    /// Returns the part that one dispatch binds of a buffer to reach a byte of it: all of it, if it
    /// is small enough.
    pub(super) fn window(&self, allocation: &Allocation, at: u64) -> Window {
        let most = self.setup.limits.binding.min(WINDOW);
        if allocation.bytes <= most {
            return Window { base: 0, end: allocation.bytes };
        }
        let base = at - at % self.setup.limits.alignment;
        Window { base, end: allocation.bytes.min(base + most) }
    }

    /// Returns one of the stream's own kernels.
    pub(super) fn own_kernel(
        &mut self,
        which: impl Fn(&mut super::ByteKernels) -> &mut Option<Kernel>,
        source: &str,
        accesses: &[Access],
    ) -> Result<Kernel, WgpuError> {
        if let Some(kernel) = which(&mut self.recording.kernels) {
            return Ok(kernel.clone());
        }
        let kernel = self.setup.compiler.compile_own(&self.setup.calls, source, accesses)?;
        *which(&mut self.recording.kernels) = Some(kernel.clone());
        Ok(kernel)
    }

    /// Returns the workgroups for `count` words. If there are more than the device dispatches, each
    /// invocation processes several words.
    pub(super) fn groups(&self, count: u64) -> [u32; 3] {
        let most = self.setup.limits.groups;
        let groups =
            u32::try_from(count.div_ceil(WORKGROUP)).map_or(most, |groups| groups.min(most));
        [groups, 1, 1]
    }
}

impl Window {
    pub(super) fn binding<'a>(&self, allocation: &'a Allocation, access: Access) -> Binding<'a> {
        Binding { allocation, offset: self.base, bytes: self.end - self.base, access }
    }
}

/// Converts numbers below 2³² into the words of a uniform.
pub(super) fn words(numbers: [u64; 4]) -> [u8; HEAD_BYTES] {
    let mut bytes = [0; HEAD_BYTES];
    for (word, number) in bytes.chunks_exact_mut(4).zip(numbers) {
        word.copy_from_slice(&number.to_le_bytes()[..4]);
    }
    bytes
}

/// Converts a number of bytes that the host has, or a number below one.
pub(super) fn usize_of(bytes: u64) -> usize {
    usize::try_from(bytes).unwrap_or(usize::MAX)
}

fn gcd(a: usize, b: usize) -> usize {
    if b == 0 { a } else { gcd(b, a % b) }
}
