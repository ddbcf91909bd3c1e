//! Uploads bytes from the host in order with the recorded commands, and downloads bytes to the
//! host.

use super::Recorder;
use super::fill::{PATTERN_BYTES, usize_of};
use crate::error::WgpuError;
use crate::memory::Allocation;
use crate::staging::{IdleBuffers, PIECE};

/// The maximum number of bytes that a batch stages before it is submitted.
const STAGED: u64 = 2 * PIECE;
/// The number of bytes that always fit in the fill kernel's pattern, even if they do not start at a
/// word boundary.
const FEW: usize = PATTERN_BYTES - 4;

impl Recorder<'_> {
    /// Copies bytes from the host. When this method returns, the caller can reuse `source`.
    /// Commands recorded later read the new bytes. The rest of the buffer is unchanged.
    ///
    /// # Errors
    ///
    /// Returns [`WgpuError::OutOfMemory`] if the device is out of memory. The method also returns
    /// the same device-related errors as [`Stream::dispatch`](crate::Stream::dispatch).
    pub(crate) fn upload(
        &mut self,
        allocation: &Allocation,
        offset: u64,
        source: &[u8],
    ) -> Result<(), WgpuError> {
        if source.is_empty() {
            return Ok(());
        }
        // The bytes of a short upload are stored in the kernel's parameters, so the compute pass
        // can stay open.
        if source.len() <= FEW && (self.is_in_pass() || source.len() < 8) {
            return self.write_few(allocation, offset, source);
        }
        // A copy from a staging buffer consists of whole words. The unaligned bytes at both ends
        // are therefore written separately.
        let (head, rest) = source.split_at(usize_of((4 - offset % 4) % 4).min(source.len()));
        let (words, tail) = rest.split_at(rest.len() & !3);
        let after_head = offset + head.len() as u64;
        self.upload_words(allocation, after_head, words)?;
        for (at, edge) in [(offset, head), (after_head + words.len() as u64, tail)] {
            if !edge.is_empty() {
                self.write_few(allocation, at, edge)?;
            }
        }
        Ok(())
    }

    fn upload_words(
        &mut self,
        allocation: &Allocation,
        offset: u64,
        source: &[u8],
    ) -> Result<(), WgpuError> {
        let mut at = offset;
        for piece in source.chunks(usize_of(PIECE)) {
            let bytes = piece.len() as u64;
            if self.recording.batch.staged.bytes + bytes > STAGED {
                self.submit(Vec::new())?;
            }
            self.encoder(&[allocation])?;
            let (setup, recording) = (self.setup, &mut *self.recording);
            let (calls, staged) = (&setup.calls, &mut recording.batch.staged);
            let (buffer, from) = recording.uploads.stage(calls, &setup.counters, staged, piece)?;
            let encoder = recording.batch.encoder(setup);
            encoder.copy_buffer_to_buffer(&buffer, from, &allocation.buffer, at, bytes);
            at += bytes;
        }
        Ok(())
    }

    /// Copies bytes into a staging buffer and submits the copy. The host can read the bytes from
    /// the staging buffer later. The first byte is stored at offset `offset % 4` of the staging
    /// buffer.
    ///
    /// # Errors
    ///
    /// Returns [`WgpuError::OutOfMemory`] if the device is out of memory, or
    /// [`WgpuError::BufferDestroyed`] if the buffer has been destroyed. Returns
    /// [`WgpuError::DeviceLost`] if the device is lost, or [`WgpuError::SubmissionRefused`] if wgpu
    /// rejects the batch.
    pub(crate) fn download(
        &mut self,
        allocation: &Allocation,
        offset: u64,
        bytes: u64,
        pool: &IdleBuffers,
    ) -> Result<wgpu::Buffer, WgpuError> {
        let (start, end) = (offset & !3, (offset + bytes).next_multiple_of(4));
        let staging = pool.take(&self.setup.calls, &self.setup.counters, end - start)?;
        let encoder = self.encoder(&[allocation])?;
        encoder.copy_buffer_to_buffer(&allocation.buffer, start, &staging, 0, end - start);
        self.submit(Vec::new())?;
        Ok(staging)
    }
}
