//! The batch: what is recorded and not submitted. Its commands, their parameters, the bytes that they upload and the
//! threads that recorded them are one value, which is submitted or dropped as a whole.

use super::Recorder;
use crate::calls::Calls;
use crate::error::WgpuError;
use crate::parameters::BatchParameters;
use crate::setup::Setup;
use crate::staging::Staged;
use crate::turn::current_thread;

/// The most errors that are kept for threads to be told.
const OWED: usize = 64;

/// What is recorded and not submitted.
#[derive(Debug, Default)]
pub(super) struct Batch {
    // A pass is dropped before its encoder.
    pub(super) pass: Option<OpenPass>,
    pub(super) encoder: Option<wgpu::CommandEncoder>,
    /// Finished command buffers, which come before the encoder.
    finished: Vec<wgpu::CommandBuffer>,
    /// How many commands all of them hold.
    pub(super) commands: usize,
    pub(super) parameters: BatchParameters,
    pub(super) staged: Staged,
    /// The threads that have recorded something.
    threads: Vec<u64>,
    /// What overtakes the batch where that is a planted mistake.
    #[cfg(test)]
    pub(super) overtaking: Option<wgpu::CommandEncoder>,
}

/// A compute pass that is open.
#[derive(Debug)]
pub(super) struct OpenPass {
    pub(super) pass: wgpu::ComputePass<'static>,
    /// The number of the kernel that is set.
    pub(super) kernel: Option<u64>,
    /// The number of the bind group that is set for it.
    pub(super) group: Option<u64>,
    /// The offset of the parameters that are set.
    pub(super) parameters: u32,
}

/// Errors of batches, for the threads that recorded into these and did not submit them.
#[derive(Debug, Default)]
pub(super) struct Owed(Vec<(u64, WgpuError)>);

impl Owed {
    fn add(&mut self, thread: u64, error: &WgpuError) {
        // Threads that have ended do not ask.
        if self.0.len() == OWED {
            self.0.remove(0);
        }
        self.0.push((thread, error.clone()));
    }

    #[inline]
    fn take(&mut self) -> Result<(), WgpuError> {
        if self.0.is_empty() {
            return Ok(());
        }
        let here = current_thread();
        match self.0.iter().position(|(thread, _)| *thread == here) {
            Some(at) => Err(self.0.remove(at).1),
            None => Ok(()),
        }
    }
}

impl Batch {
    /// Notes one command of this thread.
    #[inline]
    pub(super) fn count(&mut self) {
        self.commands += 1;
        let here = current_thread();
        if self.threads.last() != Some(&here) && !self.threads.contains(&here) {
            self.threads.push(here);
        }
    }

    /// The encoder of the next commands, which is made with the first of them.
    #[inline]
    pub(super) fn encoder(&mut self, setup: &Setup) -> &mut wgpu::CommandEncoder {
        self.encoder.get_or_insert_with(|| setup.calls.device.create_command_encoder(&LABEL))
    }

    /// Ends the encoder: what follows comes behind its commands.
    fn finish(&mut self) {
        self.pass = None;
        self.finished.extend(self.encoder.take().map(wgpu::CommandEncoder::finish));
    }

    fn is_empty(&self) -> bool {
        self.encoder.is_none() && self.finished.is_empty()
    }
}

const LABEL: wgpu::CommandEncoderDescriptor<'static> =
    wgpu::CommandEncoderDescriptor { label: Some("pool-wgpu") };

/// Runs code of a user with an encoder of its own, and returns what it recorded.
///
/// # Errors
///
/// [`WgpuError::ExchangedEncoder`], [`WgpuError::DeviceLost`], and [`WgpuError::Refused`] for what wgpu does not accept.
pub(crate) fn record_apart<R>(
    calls: &Calls,
    code: impl FnOnce(&mut wgpu::CommandEncoder) -> R,
) -> Result<(wgpu::CommandBuffer, R), WgpuError> {
    calls.check()?;
    let mut encoder = calls.accepted(|| calls.device.create_command_encoder(&LABEL))?;
    let before = identity(&encoder);
    // In no error scope: what the code asks of wgpu besides recording is its own.
    let answer = code(&mut encoder);
    if identity(&encoder) != before {
        return Err(WgpuError::ExchangedEncoder);
    }
    Ok((calls.accepted(|| encoder.finish())?, answer))
}

/// A number that tells an encoder from others: wgpu hashes its identity.
fn identity(encoder: &wgpu::CommandEncoder) -> u64 {
    use std::hash::{DefaultHasher, Hash, Hasher};
    let mut hasher = DefaultHasher::new();
    encoder.hash(&mut hasher);
    hasher.finish()
}

impl Recorder<'_> {
    /// Returns the error of a batch that this thread has recorded into and another one has submitted.
    ///
    /// # Errors
    ///
    /// [`WgpuError::BatchRefused`].
    #[inline]
    pub(crate) fn pay(&mut self) -> Result<(), WgpuError> {
        self.recording.owed.take()
    }

    /// Puts a finished command buffer behind what is recorded.
    ///
    /// # Errors
    ///
    /// As [`submit`](Self::submit).
    pub(crate) fn append(&mut self, buffer: wgpu::CommandBuffer) -> Result<(), WgpuError> {
        self.make_room()?;
        let batch = &mut self.recording.batch;
        if let Err(error) = self.setup.calls.scoped(|| batch.finish()) {
            let batch = std::mem::take(batch);
            return self.refuse(batch.threads, &error);
        }
        batch.count();
        batch.finished.push(buffer);
        Ok(())
    }

    /// Submits what is recorded, and behind it command buffers of others.
    ///
    /// # Errors
    ///
    /// [`WgpuError::BatchRefused`] and [`WgpuError::DeviceLost`]; of what was recorded nothing is done then, nothing is
    /// recorded any more, and the other threads that recorded are told by their next call. [`WgpuError::Refused`] for
    /// the command buffers of others alone.
    pub(crate) fn submit(&mut self, others: Vec<wgpu::CommandBuffer>) -> Result<(), WgpuError> {
        let calls = &self.setup.calls;
        if self.recording.batch.is_empty() {
            self.recording.batch = Batch::default();
            calls.find_loss()?;
        } else {
            self.submit_batch()?;
        }
        if others.is_empty() {
            return Ok(());
        }
        self.setup.counters.submissions.step();
        let submitted = calls.scoped(|| calls.queue.submit(others));
        calls.find_loss()?;
        submitted.map(drop).map_err(|error| WgpuError::refused(&error))
    }

    fn submit_batch(&mut self) -> Result<(), WgpuError> {
        let (calls, recording) = (&self.setup.calls, &mut *self.recording);
        let mut batch = std::mem::take(&mut recording.batch);
        self.setup.counters.submissions.step();
        let submitted = calls.scoped(|| {
            batch.finish();
            batch.staged.unmap();
            recording.parameters.write(&calls.queue, &batch.parameters);
            #[cfg(test)]
            calls.queue.submit(batch.overtaking.take().map(wgpu::CommandEncoder::finish));
            calls.queue.submit(batch.finished.drain(..));
            recording.uploads.recall(&mut batch.staged);
        });
        calls.find_loss()?;
        if let Err(error) = submitted {
            return self.refuse(batch.threads, &error);
        }
        // Their room is used again.
        batch.parameters.clear();
        batch.threads.clear();
        batch.commands = 0;
        recording.batch = batch;
        Ok(())
    }

    /// As [`submit`](Self::submit), where no caller can take an error: this thread's next call returns it.
    pub(crate) fn submit_unanswered(&mut self) {
        if let Err(error) = self.submit(Vec::new()) {
            self.recording.owed.add(current_thread(), &error);
        }
    }

    /// Notes for all threads of a refused batch but this one what wgpu says of it.
    fn refuse(&mut self, threads: Vec<u64>, error: &wgpu::Error) -> Result<(), WgpuError> {
        self.setup.calls.find_loss()?;
        self.recording.refusals += 1;
        let error = WgpuError::BatchRefused { message: error.to_string() };
        let here = current_thread();
        for thread in threads.into_iter().filter(|thread| *thread != here) {
            self.recording.owed.add(thread, &error);
        }
        Err(error)
    }
}
