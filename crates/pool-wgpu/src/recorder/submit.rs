//! Performs a batch's submissions one after another, and reports those that wgpu rejects.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::thread;

use super::Recorder;
use super::batch::{Batch, Submission};
use crate::error::WgpuError;
use crate::exclusive_state::current_thread;

impl Recorder<'_> {
    /// Returns the error from an earlier batch that contained this thread's commands and was
    /// submitted by another thread.
    ///
    /// # Errors
    ///
    /// Returns [`WgpuError::SubmissionRefused`] if wgpu rejected this thread's commands.
    #[inline]
    pub(crate) fn pay(&mut self) -> Result<(), WgpuError> {
        self.recording.owed.take()
    }

    /// Appends the commands that this thread recorded in a separate encoder.
    ///
    /// # Errors
    ///
    /// Returns the same errors as [`submit`](Self::submit).
    pub(crate) fn append(&mut self, commands: wgpu::CommandBuffer) -> Result<(), WgpuError> {
        self.make_room()?;
        self.end_part()?;
        let batch = &mut self.recording.batch;
        batch.commands += 1;
        batch.submissions.push(Submission { commands, threads: vec![current_thread()] });
        Ok(())
    }

    /// Finishes the current encoder so that later commands run after the encoder's commands.
    fn end_part(&mut self) -> Result<(), WgpuError> {
        let batch = &mut self.recording.batch;
        batch.pass = None;
        let threads = std::mem::take(&mut batch.threads);
        let Some(encoder) = batch.encoder.take() else { return Ok(()) };
        match self.setup.calls.scoped(|| encoder.finish()) {
            Ok(commands) => {
                batch.submissions.push(Submission { commands, threads });
                Ok(())
            }
            Err(error) => self.refuse(&threads, error.to_string()),
        }
    }

    /// Submits the recorded commands, followed by the user's command buffers. The recording is
    /// empty after the call, even if an error occurs.
    ///
    /// # Errors
    ///
    /// - Returns [`WgpuError::SubmissionRefused`] if wgpu rejects a submission that contains this
    ///   thread's commands. Every other thread with commands in the rejected submission receives
    ///   the error from its next call. All accepted submissions are executed.
    /// - Returns [`WgpuError::Refused`] if wgpu rejects one of the user's command buffers. wgpu
    ///   submits neither the rejected buffer nor any later buffer.
    /// - Returns [`WgpuError::DeviceLost`] if the device is lost.
    pub(crate) fn submit(&mut self, others: Vec<wgpu::CommandBuffer>) -> Result<(), WgpuError> {
        let calls = &self.setup.calls;
        let recorded = self.submit_batch();
        calls.find_loss()?;
        recorded?;
        if others.is_empty() {
            return Ok(());
        }
        self.setup.counters.submissions.step();
        let (mut answer, mut panicked) = (Ok(()), None);
        for commands in others {
            match self.submit_alone(commands) {
                Ok(submitted) => answer = submitted,
                Err(payload) => panicked = Some(payload),
            }
            if answer.is_err() {
                break;
            }
        }
        panicked.map_or(answer, |payload| resume_unwind(payload))
    }

    /// Submits one of the user's command buffers with a separate call, just as for a
    /// [`Submission`]. If a callback panics after the commands have been submitted, this method
    /// returns the panic's payload.
    fn submit_alone(&self, commands: wgpu::CommandBuffer) -> thread::Result<Result<(), WgpuError>> {
        let calls = &self.setup.calls;
        let submit = || calls.scoped(|| calls.queue.submit([commands]));
        catch_unwind(AssertUnwindSafe(submit)).map(|submitted| {
            calls.find_loss()?;
            submitted.map(drop).map_err(|error| WgpuError::refused(&error))
        })
    }

    fn submit_batch(&mut self) -> Result<(), WgpuError> {
        if self.recording.batch.is_empty() {
            self.recording.batch = Batch::default();
            return Ok(());
        }
        let ended = self.end_part();
        let calls = &self.setup.calls;
        let mut batch = std::mem::take(&mut self.recording.batch);
        self.setup.counters.submissions.step();
        let prepared = calls.scoped(|| {
            batch.staged.unmap();
            self.recording.parameters.write(&calls.queue, &batch.parameters);
        });
        let submitted = self.submit_each(&mut batch.submissions, &in_words(prepared));
        let _ = calls.scoped(|| self.recording.uploads.recall(&mut batch.staged));
        // The next batch reuses this batch's memory.
        batch.parameters.clear();
        batch.commands = 0;
        self.recording.batch = batch;
        match submitted {
            Ok(answer) => ended.and(answer),
            Err(panicked) => resume_unwind(panicked),
        }
    }

    /// Performs all submissions, or none of them if the batch's data could not be prepared. A
    /// submission may run callbacks. If a callback panics, this method first performs all remaining
    /// submissions, and then returns the panic's payload.
    fn submit_each(
        &mut self,
        submissions: &mut Vec<Submission>,
        prepared: &Result<(), String>,
    ) -> thread::Result<Result<(), WgpuError>> {
        let calls = &self.setup.calls;
        let (mut answer, mut panicked) = (Ok(()), None);
        for Submission { commands, threads } in submissions.drain(..) {
            let submit = || in_words(calls.scoped(|| calls.queue.submit([commands])).map(|_| ()));
            let submitted = match prepared {
                Ok(()) => catch_unwind(AssertUnwindSafe(submit)),
                Err(message) => Ok(Err(message.clone())),
            };
            match submitted {
                Ok(Ok(())) => {}
                Ok(Err(message)) => answer = answer.and(self.refuse(&threads, message)),
                Err(payload) => panicked = Some(payload),
            }
        }
        panicked.map_or(Ok(answer), Err)
    }

    /// Submits the batch like [`submit`](Self::submit), but for callers that cannot return an
    /// error. If the submission fails, the next call on this thread returns the error.
    pub(crate) fn submit_and_keep_error(&mut self) {
        if let Err(error) = self.submit(Vec::new()) {
            self.recording.owed.add(current_thread(), &error);
        }
    }

    /// Reports that wgpu has rejected a submission. If the calling thread recorded any of the
    /// submission's commands, this method returns the error. All other threads with commands in the
    /// submission receive the error from their next calls.
    fn refuse(&mut self, threads: &[u64], message: String) -> Result<(), WgpuError> {
        self.setup.calls.find_loss()?;
        self.recording.refusals += 1;
        let error = WgpuError::SubmissionRefused { message };
        let here = current_thread();
        for thread in threads.iter().filter(|thread| **thread != here) {
            self.recording.owed.add(*thread, &error);
        }
        if threads.contains(&here) { Err(error) } else { Ok(()) }
    }
}

fn in_words(answer: Result<(), wgpu::Error>) -> Result<(), String> {
    answer.map_err(|error| error.to_string())
}
