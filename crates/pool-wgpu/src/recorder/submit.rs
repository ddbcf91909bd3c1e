//! Submissions: the parts of a batch, one by one, and what becomes of those that wgpu refuses.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::thread;

use super::Recorder;
use super::batch::{Batch, Part};
use crate::error::WgpuError;
use crate::turn::current_thread;

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
    /// Same as [`submit`](Self::submit).
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
            Err(error) => self.refuse(&threads, error.to_string()),
        }
    }

    /// Submits what is recorded, and behind it command buffers of others.
    ///
    /// # Errors
    ///
    /// [`WgpuError::SubmissionRefused`] if wgpu refuses a part that this thread has recorded into;
    /// the other threads of such a part are told by their next call, and the other parts are
    /// executed. [`WgpuError::Refused`] for a command buffer of others: it and those behind it are
    /// not submitted. [`WgpuError::DeviceLost`]. Nothing is recorded any more.
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

    /// Submits a command buffer of others, alone as each [`Part`] is. What unwinds comes from a callback, once the
    /// commands are submitted.
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
        let submitted = self.submit_parts(&mut batch.parts, &in_words(prepared));
        let _ = calls.scoped(|| self.recording.uploads.recall(&mut batch.staged));
        // Their room is used again.
        batch.parameters.clear();
        batch.commands = 0;
        self.recording.batch = batch;
        match submitted {
            Ok(answer) => ended.and(answer),
            Err(panicked) => resume_unwind(panicked),
        }
    }

    /// Submits parts, unless what they read could not be prepared. A submission runs callbacks: what unwinds from one is
    /// returned when all parts are submitted.
    fn submit_parts(
        &mut self,
        parts: &mut Vec<Part>,
        prepared: &Result<(), String>,
    ) -> thread::Result<Result<(), WgpuError>> {
        let calls = &self.setup.calls;
        let (mut answer, mut panicked) = (Ok(()), None);
        for Part { commands, threads } in parts.drain(..) {
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

    /// Does the same as [`submit`](Self::submit), where no caller can take an error: this thread's
    /// next call returns it.
    pub(crate) fn submit_unanswered(&mut self) {
        if let Err(error) = self.submit(Vec::new()) {
            self.recording.owed.add(current_thread(), &error);
        }
    }

    /// Tells the threads of a part that wgpu has refused: this one at once, the others by their next call.
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
