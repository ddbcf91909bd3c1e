//! Submits the parts of a batch one at a time, and handles the parts that wgpu rejects.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::thread;

use super::Recorder;
use super::batch::{Batch, Part};
use crate::error::WgpuError;
use crate::turn::current_thread;

impl Recorder<'_> {
    /// Returns the error of a batch that this thread recorded into and another thread submitted.
    ///
    /// # Errors
    ///
    /// [`WgpuError::SubmissionRefused`].
    #[inline]
    pub(crate) fn pay(&mut self) -> Result<(), WgpuError> {
        self.recording.owed.take()
    }

    /// Appends commands recorded on this thread.
    ///
    /// # Errors
    ///
    /// The same as [`submit`](Self::submit).
    pub(crate) fn append(&mut self, commands: wgpu::CommandBuffer) -> Result<(), WgpuError> {
        self.make_room()?;
        self.end_part()?;
        let batch = &mut self.recording.batch;
        batch.commands += 1;
        batch.parts.push(Part { commands, threads: vec![current_thread()] });
        Ok(())
    }

    /// Finishes the current encoder, so that later commands run after those in the encoder.
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

    /// Submits the recorded commands, followed by foreign command buffers.
    ///
    /// # Errors
    ///
    /// [`WgpuError::SubmissionRefused`] if wgpu rejects a part that this thread has recorded into.
    /// The part's other threads receive the error from their next call, and the other parts are
    /// executed. [`WgpuError::Refused`] if wgpu rejects a foreign command buffer; this buffer and
    /// the later ones are not submitted. [`WgpuError::DeviceLost`]. After an error, the recording
    /// is empty.
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

    /// Submits one foreign command buffer separately, like each [`Part`]. A panic comes from a
    /// callback, and the commands have then been submitted.
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
        // The memory of these values is reused.
        batch.parameters.clear();
        batch.commands = 0;
        self.recording.batch = batch;
        match submitted {
            Ok(answer) => ended.and(answer),
            Err(panicked) => resume_unwind(panicked),
        }
    }

    /// Submits the parts, unless their data could not be prepared. A submission runs callbacks. If
    /// a callback panics, the panic is returned after all parts have been submitted.
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

    /// Like [`submit`](Self::submit), for callers that cannot handle an error: this thread's next
    /// call returns the error instead.
    pub(crate) fn submit_unanswered(&mut self) {
        if let Err(error) = self.submit(Vec::new()) {
            self.recording.owed.add(current_thread(), &error);
        }
    }

    /// Reports a part that wgpu rejected. The calling thread receives the error immediately, and
    /// other threads receive it from their next call.
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
