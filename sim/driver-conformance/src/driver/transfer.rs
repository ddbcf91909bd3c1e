//! Copies and fills, both synchronous and stream-ordered.

use super::host::HostBuffer;
use super::memory::Span;
use super::refusal::Outcome;
use super::stream::Stream;

/// Copies from the host to the device. The shorter of the two lengths is copied.
///
/// # Errors
///
/// Returns the driver's error code.
pub fn upload(to: Span, from: &[u8]) -> Outcome<()> {
    let bytes = from.len().min(to.bytes());
    // SAFETY: the slice has the stated number of bytes.
    // The slice is pageable memory, so the call returns after reading it.
    // The target is device memory (2).
    unsafe { call!(cuMemcpyHtoD_v2(to.address(), from.as_ptr().cast(), bytes)) }
}

/// Copies from the device to the host.
///
/// # Errors
///
/// Returns the driver's error code.
pub fn download(from: Span) -> Outcome<Vec<u8>> {
    let mut bytes = vec![0; from.bytes()];
    // SAFETY: the vector has the stated number of bytes.
    // The vector is pageable memory, so the call returns after writing it.
    unsafe { call!(cuMemcpyDtoH_v2(bytes.as_mut_ptr().cast(), from.address(), bytes.len())) }?;
    Ok(bytes)
}

/// Copies within the device. The shorter of the two lengths is copied.
///
/// # Errors
///
/// Returns the driver's error code.
pub fn copy(to: Span, from: Span) -> Outcome<()> {
    let bytes = to.bytes().min(from.bytes());
    // SAFETY: both spans are device memory (2).
    unsafe { call!(cuMemcpyDtoD_v2(to.address(), from.address(), bytes)) }
}

/// Fills a span with a byte.
///
/// # Errors
///
/// Returns the driver's error code.
pub fn fill(span: Span, value: u8) -> Outcome<()> {
    // SAFETY: the span is device memory (2).
    unsafe { call!(cuMemsetD8_v2(span.address(), value, span.bytes())) }
}

/// Fills a span with a byte, after the stream's earlier work.
///
/// # Errors
///
/// Returns the driver's error code.
pub fn fill_behind(stream: &Stream, span: Span, value: u8) -> Outcome<()> {
    // SAFETY: the stream is live (1).
    // The span is device memory (2).
    unsafe { call!(cuMemsetD8Async(span.address(), value, span.bytes(), stream.raw())) }
}

/// Copies within the device, after the stream's earlier work.
///
/// # Errors
///
/// Returns the driver's error code.
pub fn copy_behind(stream: &Stream, to: Span, from: Span) -> Outcome<()> {
    let bytes = to.bytes().min(from.bytes());
    // SAFETY: the stream is live (1).
    // Both spans are device memory (2).
    unsafe { call!(cuMemcpyDtoDAsync_v2(to.address(), from.address(), bytes, stream.raw())) }
}

impl HostBuffer {
    /// Copies from this buffer to the device, after the stream's earlier work.
    ///
    /// # Errors
    ///
    /// Returns the driver's error code.
    pub fn upload_behind(&self, stream: &Stream, to: Span) -> Outcome<()> {
        let bytes = self.bytes().min(to.bytes());
        let from = self.start().cast_const();
        // SAFETY: the stream is live (1).
        // The host's bytes are never freed (3).
        unsafe { call!(cuMemcpyHtoDAsync_v2(to.address(), from, bytes, stream.raw())) }
    }

    /// Copies from the device to this buffer, after the stream's earlier work.
    ///
    /// # Errors
    ///
    /// Returns the driver's error code.
    pub fn download_behind(&self, stream: &Stream, from: Span) -> Outcome<()> {
        let bytes = self.bytes().min(from.bytes());
        // SAFETY: the stream is live (1).
        // The host's bytes are never freed, and no reference to them exists (3).
        unsafe { call!(cuMemcpyDtoHAsync_v2(self.start(), from.address(), bytes, stream.raw())) }
    }
}
