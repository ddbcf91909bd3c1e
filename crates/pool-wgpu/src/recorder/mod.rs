//! Recording: one encoder, into which everything goes in the order in which it is called for. A compute pass stays open
//! over dispatches that follow one another.

mod copy;
mod dispatch;
mod fill;
mod submit;
mod transfer;

use crate::bind_groups::BindGroups;
use crate::error::WgpuError;
#[cfg(test)]
use crate::flaw::{self, Flaw};
use crate::kernel::Kernel;
use crate::memory::Allocation;
use crate::parameters::{BATCH, Parameters};
use crate::setup::Setup;
use crate::staging::Uploads;

/// What is recorded and not submitted, and what is kept for what is recorded next.
#[derive(Debug)]
pub(crate) struct Recording {
    // A pass is dropped before its encoder.
    pass: Option<OpenPass>,
    encoder: Option<wgpu::CommandEncoder>,
    /// How many commands the encoder holds.
    commands: usize,
    parameters: Parameters,
    bind_groups: BindGroups,
    uploads: Uploads,
    /// What overtakes the encoder where that is a planted mistake.
    #[cfg(test)]
    overtaking: Option<wgpu::CommandEncoder>,
    kernels: ByteKernels,
    /// Through which bytes go that are copied within a buffer too large for one binding.
    scratch: Option<Allocation>,
    /// An error that could not be told when it came up.
    unreported: Option<WgpuError>,
}

/// A compute pass that is open.
#[derive(Debug)]
struct OpenPass {
    pass: wgpu::ComputePass<'static>,
    /// The number of the kernel that is set.
    kernel: Option<u64>,
    /// The number of the bind group that is set for it.
    group: Option<u64>,
}

/// The stream's own kernels, compiled when they are needed first.
#[derive(Debug, Default)]
struct ByteKernels {
    fill: Option<Kernel>,
    copy: Option<Kernel>,
    copy_within: Option<Kernel>,
}

impl Recording {
    /// Nothing recorded yet.
    ///
    /// # Errors
    ///
    /// Those of [`Parameters::new`].
    pub(crate) fn new(setup: &Setup) -> Result<Self, WgpuError> {
        Ok(Self {
            pass: None,
            encoder: None,
            commands: 0,
            parameters: Parameters::new(&setup.calls, &setup.compiler)?,
            bind_groups: BindGroups::default(),
            uploads: Uploads::new(),
            #[cfg(test)]
            overtaking: None,
            kernels: ByteKernels::default(),
            scratch: None,
            unreported: None,
        })
    }
}

/// A stream's recording in the hands of the thread that has the turn.
#[derive(Debug)]
pub(crate) struct Recorder<'a> {
    setup: &'a Setup,
    recording: &'a mut Recording,
}

impl<'a> Recorder<'a> {
    /// Begins a turn: bind groups of buffers that were freed since the last one are forgotten.
    #[inline]
    pub(crate) fn new(setup: &'a Setup, recording: &'a mut Recording, freed: &[u64]) -> Self {
        if !freed.is_empty() {
            recording.bind_groups.evict(freed);
        }
        Self { setup, recording }
    }

    /// Whether a compute pass is open.
    fn is_in_pass(&self) -> bool {
        self.recording.pass.is_some()
    }

    /// Counts one more command; a batch that is full is submitted before.
    #[inline]
    fn make_room(&mut self) -> Result<(), WgpuError> {
        self.setup.calls.check()?;
        if self.recording.commands >= BATCH {
            self.submit([])?;
        }
        self.recording.commands += 1;
        Ok(())
    }

    /// The encoder, outside of a pass, for one command.
    fn encoder(&mut self) -> Result<&mut wgpu::CommandEncoder, WgpuError> {
        self.make_room()?;
        self.setup.counters.copies.step();
        self.recording.pass = None;
        Ok(open(self.setup, &mut self.recording.encoder))
    }

    /// As [`encoder`](Self::encoder), or, where the mistake is planted, one that is submitted before it.
    #[cfg(test)]
    fn encoder_with(&mut self, mistake: Flaw) -> Result<&mut wgpu::CommandEncoder, WgpuError> {
        self.encoder()?;
        let (right, wrong) = (&mut self.recording.encoder, &mut self.recording.overtaking);
        Ok(open(self.setup, if flaw::is_planted(mistake) { wrong } else { right }))
    }

    /// Lets code of others record into the encoder.
    ///
    /// # Errors
    ///
    /// [`WgpuError::DeviceLost`], [`WgpuError::ExchangedEncoder`], and those of a submission where a batch was full.
    pub(crate) fn record<R>(
        &mut self,
        code: impl FnOnce(&mut wgpu::CommandEncoder) -> R,
    ) -> Result<R, WgpuError> {
        self.make_room()?;
        self.recording.pass = None;
        // It stays in its place, so that a panic of the code loses nothing.
        let encoder = open(self.setup, &mut self.recording.encoder);
        let before = identity(encoder);
        let answer = code(encoder);
        if identity(encoder) != before {
            self.recording.encoder = None;
            return Err(WgpuError::ExchangedEncoder);
        }
        Ok(answer)
    }

    /// How many commands are recorded and not submitted.
    pub(crate) fn pending(&self) -> usize {
        self.recording.commands
    }
}

/// The encoder of a batch, which is made with the batch's first command.
#[inline]
fn open<'a>(
    setup: &Setup,
    encoder: &'a mut Option<wgpu::CommandEncoder>,
) -> &'a mut wgpu::CommandEncoder {
    encoder.get_or_insert_with(|| {
        let descriptor = wgpu::CommandEncoderDescriptor { label: Some("pool-wgpu") };
        setup.calls.device.create_command_encoder(&descriptor)
    })
}

/// What tells an encoder from others: wgpu hashes its identity.
fn identity(encoder: &wgpu::CommandEncoder) -> u64 {
    use std::hash::{DefaultHasher, Hash, Hasher};
    let mut hasher = DefaultHasher::new();
    encoder.hash(&mut hasher);
    hasher.finish()
}
