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
    /// The threads that have recorded into the encoder.
    threads: Vec<u64>,
    /// What comes before the encoder.
    parts: Vec<Part>,
    /// How many commands all of them hold.
    pub(super) commands: usize,
    pub(super) parameters: BatchParameters,
    pub(super) staged: Staged,
    /// What overtakes the batch where that is a planted mistake.
    #[cfg(test)]
    pub(super) overtaking: Option<wgpu::CommandEncoder>,
}

/// The commands of one closure of a user, or those of the stream between two of them.
///
/// Each is submitted by a call of its own. In one call wgpu would refuse all of them for one, but would go on as if those
/// before that one had been executed: later commands would lack their barriers.
#[derive(Debug)]
struct Part {
    commands: wgpu::CommandBuffer,
    /// The threads that have recorded them.
    threads: Vec<u64>,
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

    fn is_empty(&self) -> bool {
        self.encoder.is_none() && self.parts.is_empty()
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
    /// [`WgpuError::SubmissionRefused`].
    #[inline]
    pub(crate) fn pay(&mut self) -> Result<(), WgpuError> {
        self.recording.owed.take()
    }

    /// Puts commands of this thread behind what is recorded.
    ///
    /// # Errors
    ///
    /// As [`submit`](Self::submit).
    pub(crate) fn append(&mut self, commands: wgpu::CommandBuffer) -> Result<(), WgpuError> {
        self.make_room()?;
        self.end_part()?;
        let batch = &mut self.recording.batch;
        batch.commands += 1;
        batch.parts.push(Part { commands, threads: vec![current_thread()] });
        Ok(())
    }

    /// Ends the encoder: what is recorded next comes behind its commands.
    fn end_part(&mut self) -> Result<(), WgpuError> {
        let batch = &mut self.recording.batch;
        batch.pass = None;
        let threads = std::mem::take(&mut batch.threads);
        let Some(encoder) = batch.encoder.take() else { return Ok(()) };
        match self.setup.calls.scoped(|| encoder.finish()) {
            Ok(commands) => {
                batch.parts.push(Part { commands, threads });
                Ok(())
            }
            Err(error) => self.refuse(&threads, &error),
        }
    }

    /// Submits what is recorded, and behind it command buffers of others.
    ///
    /// # Errors
    ///
    /// [`WgpuError::SubmissionRefused`] where wgpu refuses a part that this thread has recorded into; the other threads
    /// of such a part are told by their next call, and the other parts are executed. [`WgpuError::Refused`] for the
    /// command buffers of others. [`WgpuError::DeviceLost`]. Nothing is recorded any more.
    pub(crate) fn submit(&mut self, others: Vec<wgpu::CommandBuffer>) -> Result<(), WgpuError> {
        let calls = &self.setup.calls;
        let recorded = self.submit_batch();
        calls.find_loss()?;
        recorded?;
        if others.is_empty() {
            return Ok(());
        }
        self.setup.counters.submissions.step();
        let submitted = calls.scoped(|| calls.queue.submit(others));
        calls.find_loss()?;
        submitted.map(drop).map_err(|error| WgpuError::refused(&error))
    }

    fn submit_batch(&mut self) -> Result<(), WgpuError> {
        if self.recording.batch.is_empty() {
            self.recording.batch = Batch::default();
            return Ok(());
        }
        let mut answer = self.end_part();
        let calls = &self.setup.calls;
        let mut batch = std::mem::take(&mut self.recording.batch);
        self.setup.counters.submissions.step();
        let prepared = calls.scoped(|| {
            batch.staged.unmap();
            self.recording.parameters.write(&calls.queue, &batch.parameters);
            #[cfg(test)]
            calls.queue.submit(batch.overtaking.take().map(wgpu::CommandEncoder::finish));
        });
        prepared.map_err(|error| WgpuError::refused(&error))?;
        for Part { commands, threads } in batch.parts.drain(..) {
            if let Err(error) = calls.scoped(|| calls.queue.submit([commands])) {
                answer = answer.and(self.refuse(&threads, &error));
            }
        }
        let _ = calls.scoped(|| self.recording.uploads.recall(&mut batch.staged));
        // Their room is used again.
        batch.parameters.clear();
        batch.commands = 0;
        self.recording.batch = batch;
        answer
    }

    /// As [`submit`](Self::submit), where no caller can take an error: this thread's next call returns it.
    pub(crate) fn submit_unanswered(&mut self) {
        if let Err(error) = self.submit(Vec::new()) {
            self.recording.owed.add(current_thread(), &error);
        }
    }

    /// Tells the threads of a part that wgpu has refused: this one at once, the others by their next call.
    fn refuse(&mut self, threads: &[u64], error: &wgpu::Error) -> Result<(), WgpuError> {
        self.setup.calls.find_loss()?;
        self.recording.refusals += 1;
        let error = WgpuError::SubmissionRefused { message: error.to_string() };
        let here = current_thread();
        for thread in threads.iter().filter(|thread| **thread != here) {
            self.recording.owed.add(*thread, &error);
        }
        if threads.contains(&here) { Err(error) } else { Ok(()) }
    }
}
