//! Submissions: a batch, and what its dispatches and copies read.

use super::Recorder;
use crate::error::WgpuError;

impl Recorder<'_> {
    /// Submits what is recorded, and behind it command buffers of others.
    ///
    /// # Errors
    ///
    /// [`WgpuError::Refused`] and [`WgpuError::DeviceLost`]; of what was recorded nothing is done then, and nothing is
    /// recorded any more.
    pub(crate) fn submit(
        &mut self,
        others: impl IntoIterator<Item = wgpu::CommandBuffer>,
    ) -> Result<(), WgpuError> {
        if let Some(error) = self.recording.unreported.take() {
            return Err(error);
        }
        self.recording.commands = 0;
        let mut others = others.into_iter().peekable();
        if self.recording.encoder.is_none() && others.peek().is_none() {
            return self.setup.calls.find_loss();
        }
        let (calls, recording) = (&self.setup.calls, &mut *self.recording);
        self.setup.counters.submissions.step();
        let submitted = calls.scoped(|| {
            recording.pass = None;
            let batch = recording.encoder.take().map(wgpu::CommandEncoder::finish);
            recording.uploads.unmap();
            recording.parameters.write(&calls.queue);
            #[cfg(test)]
            calls.queue.submit(recording.overtaking.take().map(wgpu::CommandEncoder::finish));
            calls.queue.submit(batch.into_iter().chain(others));
            recording.uploads.recall();
        });
        calls.find_loss()?;
        submitted.map_err(|error| WgpuError::refused(&error))
    }

    /// As [`submit`](Self::submit), where nobody can take an error: the next submission returns it.
    pub(crate) fn submit_unanswered(&mut self) {
        self.recording.unreported = self.submit([]).err();
    }
}
