//! Implements fills, which repeatedly write a byte pattern into a range that can start and end at
//! any byte. If a fill covers only part of a word, the word's other bytes keep their values.

use super::Recorder;
use crate::binding::{Access, Binding};
use crate::error::WgpuError;
use crate::kernel::Kernel;
use crate::memory::Allocation;

/// The maximum size of a pattern stored in the kernel's parameters, in bytes.
pub(super) const PATTERN_BYTES: usize = 192;
/// The size of the kernel's remaining parameters, in bytes.
const HEAD_BYTES: usize = 16;
/// The number of invocations in each workgroup of the stream's own kernels.
const WORKGROUP: u64 = 64;
/// The maximum number of bytes of a large buffer that one dispatch binds. This limit ensures that
/// all offsets fit in 32 bits.
const WINDOW: u64 = 1 << 30;

const FILL: &str = include_str!("fill.wgsl");

/// The part of a buffer that is bound by one dispatch of the stream's own kernels.
#[derive(Clone, Copy, Debug)]
pub(super) struct Window {
    /// The range's start offset within the buffer, in bytes.
    pub(super) base: u64,
    /// The range's exclusive end offset within the buffer, in bytes.
    pub(super) end: u64,
}

impl Recorder<'_> {
    /// Fills the range from `start` to `end` (exclusive) with copies of an element. The range must
    /// be within the buffer.
    ///
    /// # Errors
    ///
    /// Returns the same device-related errors as [`Stream::dispatch`](crate::Stream::dispatch).
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
        // The pattern always starts at a word boundary, even if the range starts in the middle of a
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

    /// Writes a few bytes, which are passed in the kernel's parameters. The number of bytes, plus
    /// the offset of the first byte within its word, must not exceed [`PATTERN_BYTES`].
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

    /// Fills a range with copies of an element that is too long for the kernel's parameters. The
    /// element is uploaded once. Each subsequent copy repeats the bytes that have already been
    /// written. Each copy doubles the number of bytes written so far.
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

    /// Repeatedly writes a pattern that consists of whole words. The pattern begins in the word
    /// that contains `start`.
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

    /// Returns the range that a dispatch binds to access the byte at offset `at` in a buffer. If
    /// the buffer is small enough, the range is the whole buffer.
    pub(super) fn window(&self, allocation: &Allocation, at: u64) -> Window {
        let most = self.setup.limits.binding.min(WINDOW);
        if allocation.bytes <= most {
            return Window { base: 0, end: allocation.bytes };
        }
        let base = at - at % self.setup.limits.alignment;
        Window { base, end: allocation.bytes.min(base + most) }
    }

    /// Returns one of the stream's own kernels, compiled on the first request.
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

    /// Returns the number of workgroups that process `count` words. If `count` is too large for the
    /// device's limit, each invocation processes several words.
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

/// Converts numbers below 2³² into words of a uniform buffer.
pub(super) fn words(numbers: [u64; 4]) -> [u8; HEAD_BYTES] {
    let mut bytes = [0; HEAD_BYTES];
    for (word, number) in bytes.chunks_exact_mut(4).zip(numbers) {
        word.copy_from_slice(&number.to_le_bytes()[..4]);
    }
    bytes
}

/// Converts a number of bytes to `usize`. The conversion cannot fail, because the number does not
/// exceed the size of a buffer in host memory.
pub(super) fn usize_of(bytes: u64) -> usize {
    usize::try_from(bytes).unwrap_or(usize::MAX)
}

fn gcd(a: usize, b: usize) -> usize {
    if b == 0 { a } else { gcd(b, a % b) }
}
