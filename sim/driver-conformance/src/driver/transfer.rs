//! Copies and fills: those that return when they are done, and those that go behind a stream.

use super::host::HostBuffer;
use super::memory::Span;
use super::refusal::Outcome;
use super::stream::Stream;

/// Copies to the device; as many bytes as both have.
///
/// # Errors
///
/// What the driver answers.
pub fn upload(to: Span, from: &[u8]) -> Outcome<()> {
    let bytes = from.len().min(to.bytes());
    // SAFETY: the slice has that many bytes, and from ordinary memory the call returns after it has
    // read them. Where they go is device memory (2).
    unsafe { call!(cuMemcpyHtoD_v2(to.address(), from.as_ptr().cast(), bytes)) }
}

/// Copies to the host.
///
/// # Errors
///
/// What the driver answers.
pub fn download(from: Span) -> Outcome<Vec<u8>> {
    let mut bytes = vec![0; from.bytes()];
    // SAFETY: the vector has that many bytes, and into ordinary memory the call returns when they
    // are written.
    unsafe { call!(cuMemcpyDtoH_v2(bytes.as_mut_ptr().cast(), from.address(), bytes.len())) }?;
    Ok(bytes)
}

/// Copies on the device; as many bytes as both have.
///
/// # Errors
///
/// What the driver answers.
pub fn copy(to: Span, from: Span) -> Outcome<()> {
    let bytes = to.bytes().min(from.bytes());
    // SAFETY: both are device memory (2).
    unsafe { call!(cuMemcpyDtoD_v2(to.address(), from.address(), bytes)) }
}

/// Sets every byte.
///
/// # Errors
///
/// What the driver answers.
pub fn fill(span: Span, value: u8) -> Outcome<()> {
    // SAFETY: it is device memory (2).
    unsafe { call!(cuMemsetD8_v2(span.address(), value, span.bytes())) }
}

/// Sets every byte, behind what the stream has to do.
///
/// # Errors
///
/// What the driver answers.
pub fn fill_behind(stream: &Stream, span: Span, value: u8) -> Outcome<()> {
    // SAFETY: the stream is live (1); it is device memory (2).
    unsafe { call!(cuMemsetD8Async(span.address(), value, span.bytes(), stream.raw())) }
}

/// Copies on the device, behind what the stream has to do.
///
/// # Errors
///
/// What the driver answers.
pub fn copy_behind(stream: &Stream, to: Span, from: Span) -> Outcome<()> {
    let bytes = to.bytes().min(from.bytes());
    // SAFETY: the stream is live (1); both are device memory (2).
    unsafe { call!(cuMemcpyDtoDAsync_v2(to.address(), from.address(), bytes, stream.raw())) }
}

impl HostBuffer {
    /// Copies from here to the device, behind what the stream has to do.
    ///
    /// # Errors
    ///
    /// What the driver answers.
    pub fn upload_behind(&self, stream: &Stream, to: Span) -> Outcome<()> {
        let bytes = self.bytes().min(to.bytes());
        let from = self.start().cast_const();
        // SAFETY: the stream is live (1); the host's bytes are never freed (3).
        unsafe { call!(cuMemcpyHtoDAsync_v2(to.address(), from, bytes, stream.raw())) }
    }

    /// Copies from the device to here, behind what the stream has to do.
    ///
    /// # Errors
    ///
    /// What the driver answers.
    pub fn download_behind(&self, stream: &Stream, from: Span) -> Outcome<()> {
        let bytes = self.bytes().min(from.bytes());
        // SAFETY: the stream is live (1); the host's bytes are never freed, and no reference to
        // them exists (3).
        unsafe { call!(cuMemcpyDtoHAsync_v2(self.start(), from.address(), bytes, stream.raw())) }
    }
}
