//! Bytes from the host, in the order of what is recorded, and bytes on their way to the host.

use super::Recorder;
use super::fill::{PATTERN_BYTES, usize_of};
use crate::error::WgpuError;
use crate::memory::Allocation;
use crate::staging::{IdleBuffers, PIECE};

/// How many bytes one batch stages at most before it is submitted.
const STAGED: u64 = 2 * PIECE;
/// Bytes that fit into the pattern of the fill kernel, wherever in a word they begin.
const FEW: usize = PATTERN_BYTES - 4;

impl Recorder<'_> {
    /// Copies bytes from the host. They have left `source` when this returns, and are in the buffer for what is
    /// recorded afterwards; bytes around them stay as they are.
    ///
    /// # Errors
    ///
    /// [`WgpuError::OutOfMemory`], and those of [`Stream::dispatch`](crate::Stream::dispatch), as far as they come from
    /// the device.
    pub(crate) fn upload(
        &mut self,
        allocation: &Allocation,
        offset: u64,
        source: &[u8],
    ) -> Result<(), WgpuError> {
        if source.is_empty() {
            return Ok(());
        }
        // A few bytes go with the parameters, and do not end the pass.
        if source.len() <= FEW && (self.is_in_pass() || source.len() < 8) {
            return self.write_few(allocation, offset, source);
        }
        // Staged copies are of whole words.
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

    /// Copies bytes into a staging buffer, and submits. The first of them is at `offset % 4` in the staging buffer.
    ///
    /// # Errors
    ///
    /// [`WgpuError::OutOfMemory`], [`WgpuError::BufferDestroyed`], [`WgpuError::DeviceLost`] and
    /// [`WgpuError::SubmissionRefused`].
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
