//! The batch: commands that are recorded and not submitted. Its commands, their parameters, the
//! bytes that they upload and the threads that recorded them are one value, which is submitted or
//! dropped as a whole.

use crate::calls::Calls;
use crate::error::WgpuError;
use crate::parameters::BatchParameters;
use crate::setup::Setup;
use crate::staging::Staged;
use crate::turn::current_thread;

/// The maximum number of errors that are kept for other threads.
const OWED: usize = 64;

/// The commands that are recorded and not submitted.
#[derive(Debug, Default)]
pub(super) struct Batch {
    // A pass is dropped before its encoder.
    pub(super) pass: Option<OpenPass>,
    pub(super) encoder: Option<wgpu::CommandEncoder>,
    /// The threads that have recorded into the encoder.
    pub(super) threads: Vec<u64>,
    /// The parts before the encoder.
    pub(super) parts: Vec<Part>,
    /// The number of commands in all of them.
    pub(super) commands: usize,
    pub(super) parameters: BatchParameters,
    pub(super) staged: Staged,
}

/// The commands of one closure of a user, or those of the stream between two of them.
///
/// Each part is submitted by its own call, which takes 12 to 14 µs on lavapipe; in one list, each
/// would take 1 µs. But wgpu 30 refuses a whole list for one part, and has by then recorded the
/// parts before it as executed. Later commands then lack their barriers, and memory that still
/// holds freed contents counts as cleared.
#[derive(Debug)]
pub(super) struct Part {
    pub(super) commands: wgpu::CommandBuffer,
    /// The threads that have recorded them.
    pub(super) threads: Vec<u64>,
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

/// Errors of batches, for the threads that recorded into them and did not submit them.
#[derive(Debug, Default)]
pub(super) struct Owed(Vec<(u64, WgpuError)>);

impl Owed {
    pub(super) fn add(&mut self, thread: u64, error: &WgpuError) {
        // Threads that have ended never collect their errors.
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
    /// Counts one command of this thread.
    #[inline]
    pub(super) fn count(&mut self) {
        self.commands += 1;
        let here = current_thread();
        if self.threads.last() != Some(&here) && !self.threads.contains(&here) {
            self.threads.push(here);
        }
    }

    /// Returns the encoder of the next commands, which is made with the first of them.
    #[inline]
    pub(super) fn encoder(&mut self, setup: &Setup) -> &mut wgpu::CommandEncoder {
        self.encoder.get_or_insert_with(|| setup.calls.device.create_command_encoder(&LABEL))
    }

    pub(super) fn is_empty(&self) -> bool {
        self.encoder.is_none() && self.parts.is_empty()
    }
}

const LABEL: wgpu::CommandEncoderDescriptor<'static> =
    wgpu::CommandEncoderDescriptor { label: Some("pool-wgpu") };

/// Runs code of a user with an encoder of its own, and returns its commands.
///
/// # Errors
///
/// The closure's own error; [`WgpuError::ExchangedEncoder`], [`WgpuError::DeviceLost`], and
/// [`WgpuError::Refused`] for commands that wgpu does not accept.
pub(crate) fn record_apart<R, E: From<WgpuError>>(
    calls: &Calls,
    code: impl FnOnce(&mut wgpu::CommandEncoder) -> Result<R, E>,
) -> Result<(wgpu::CommandBuffer, R), E> {
    calls.check()?;
    let mut encoder = calls.accepted(|| calls.device.create_command_encoder(&LABEL))?;
    let before = identity(&encoder);
    // In no error scope: errors of the code's other calls of wgpu are its own.
    let answer = match code(&mut encoder) {
        Ok(answer) => answer,
        Err(error) => {
            // The encoder may still have an open pass.
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
            // The result may be a pass, whose end may be an error, too.
            let _ = calls.scoped(|| drop(answer));
            Err(error.into())
        }
    }
}

/// Returns a number that identifies an encoder: wgpu hashes its identity.
fn identity(encoder: &wgpu::CommandEncoder) -> u64 {
    use std::hash::{DefaultHasher, Hash, Hasher};
    let mut hasher = DefaultHasher::new();
    encoder.hash(&mut hasher);
    hasher.finish()
}
