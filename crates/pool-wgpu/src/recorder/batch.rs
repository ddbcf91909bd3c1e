//! Implements the batch, which contains the commands that have been recorded but not yet submitted.
//! The batch also contains the commands' parameters, the bytes to upload, and the threads that
//! recorded the commands. A batch's commands are either all submitted or all dropped.

use crate::calls::Calls;
use crate::error::WgpuError;
use crate::exclusive_state::current_thread;
use crate::parameters::BatchParameters;
use crate::setup::Setup;
use crate::staging::Staged;

/// The maximum number of errors that are stored until their threads receive them.
const OWED: usize = 64;

/// The commands that have been recorded but not yet submitted.
#[derive(Debug, Default)]
pub(super) struct Batch {
    // The open pass is declared before its encoder because the pass must be dropped first.
    pub(super) pass: Option<OpenPass>,
    pub(super) encoder: Option<wgpu::CommandEncoder>,
    /// The threads that have recorded commands in the current encoder.
    pub(super) threads: Vec<u64>,
    /// The submissions that come before the commands in the current encoder.
    pub(super) submissions: Vec<Submission>,
    /// The number of commands in all submissions and in the current encoder.
    pub(super) commands: usize,
    pub(super) parameters: BatchParameters,
    pub(super) staged: Staged,
}

/// The commands recorded by one closure passed to `record`, or the stream's own commands between
/// two such closures.
///
/// Each submission uses a separate call, which takes 12 to 14 µs on lavapipe. A single call for all
/// submissions would take only 1 µs per submission. However, if wgpu 30 rejected one submission, it
/// would reject the whole call, even though it would already have marked the earlier submissions as
/// executed. After such a rejection, later commands would lack barriers, and wgpu would treat
/// memory with old contents as cleared.
#[derive(Debug)]
pub(super) struct Submission {
    pub(super) commands: wgpu::CommandBuffer,
    /// The threads that recorded the commands.
    pub(super) threads: Vec<u64>,
}

/// A compute pass that has not ended yet.
#[derive(Debug)]
pub(super) struct OpenPass {
    pub(super) pass: wgpu::ComputePass<'static>,
    /// The ID of the kernel that was last set in the pass.
    pub(super) kernel: Option<u64>,
    /// The ID of the bind group that was last set in the pass.
    pub(super) group: Option<u64>,
    /// The parameter offset that was last set in the pass.
    pub(super) parameters: u32,
}

/// The errors from rejected batches. Each of these errors belongs to a thread whose commands were
/// submitted by another thread.
#[derive(Debug, Default)]
pub(super) struct Owed(Vec<(u64, WgpuError)>);

impl Owed {
    pub(super) fn add(&mut self, thread: u64, error: &WgpuError) {
        // If the list is full, the oldest error is removed. A thread that has ended would otherwise
        // leave its error in the list forever.
        if self.0.len() == OWED {
            self.0.remove(0);
        }
        self.0.push((thread, error.clone()));
    }

    #[inline]
    pub(super) fn take(&mut self) -> Result<(), WgpuError> {
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
    /// Counts a command that the calling thread is about to record.
    #[inline]
    pub(super) fn count(&mut self) {
        self.commands += 1;
        let here = current_thread();
        if self.threads.last() != Some(&here) && !self.threads.contains(&here) {
            self.threads.push(here);
        }
    }

    /// Returns the encoder for the next commands, creating one if necessary.
    #[inline]
    pub(super) fn encoder(&mut self, setup: &Setup) -> &mut wgpu::CommandEncoder {
        self.encoder.get_or_insert_with(|| setup.calls.device.create_command_encoder(&LABEL))
    }

    pub(super) fn is_empty(&self) -> bool {
        self.encoder.is_none() && self.submissions.is_empty()
    }
}

const LABEL: wgpu::CommandEncoderDescriptor<'static> =
    wgpu::CommandEncoderDescriptor { label: Some("pool-wgpu") };

/// Runs a user's closure with a separate encoder and returns the commands that the closure
/// recorded.
///
/// # Errors
///
/// Returns the closure's error. Returns [`WgpuError::ExchangedEncoder`] if the closure succeeded
/// but replaced its encoder. Returns [`WgpuError::Refused`] if wgpu rejects the commands, or
/// [`WgpuError::DeviceLost`] if the device is lost.
pub(crate) fn record_apart<R, E: From<WgpuError>>(
    calls: &Calls,
    code: impl FnOnce(&mut wgpu::CommandEncoder) -> Result<R, E>,
) -> Result<(wgpu::CommandBuffer, R), E> {
    calls.check()?;
    let mut encoder = calls.accepted(|| calls.device.create_command_encoder(&LABEL))?;
    let before = identity(&encoder);
    // The closure runs outside the stream's error scopes. If a closure calls wgpu through other
    // objects, it must itself handle the errors from these calls.
    let answer = match code(&mut encoder) {
        Ok(answer) => answer,
        Err(error) => {
            // Dropping the encoder causes an error if the encoder still contains an open pass.
            let _ = calls.scoped(|| drop(encoder));
            return Err(error);
        }
    };
    if identity(&encoder) != before {
        return Err(WgpuError::ExchangedEncoder.into());
    }
    match calls.accepted(|| encoder.finish()) {
        Ok(commands) => Ok((commands, answer)),
        Err(error) => {
            // An error can also occur when a pass that the closure returned is dropped.
            let _ = calls.scoped(|| drop(answer));
            Err(error.into())
        }
    }
}

/// Returns a number that identifies an encoder. The number is computed from the encoder's hash,
/// which wgpu provides.
fn identity(encoder: &wgpu::CommandEncoder) -> u64 {
    use std::hash::{DefaultHasher, Hash, Hasher};
    let mut hasher = DefaultHasher::new();
    encoder.hash(&mut hasher);
    hasher.finish()
}
