//! Recording: one batch, into which everything goes in the order of the calls. A compute pass stays open over
//! dispatches that follow one another.

mod batch;
mod copy;
mod dispatch;
mod fill;
mod submit;
mod transfer;

use crate::bind_groups::BindGroups;
use crate::error::WgpuError;
use crate::kernel::Kernel;
use crate::memory::Allocation;
use crate::parameters::{BATCH, Parameters};
use crate::setup::Setup;
use crate::staging::Uploads;

use batch::{Batch, Owed};

pub(crate) use batch::record_apart;

/// What is recorded and not submitted, and what is kept for what is recorded next.
#[derive(Debug)]
pub(crate) struct Recording {
    batch: Batch,
    owed: Owed,
    parameters: Parameters,
    bind_groups: BindGroups,
    uploads: Uploads,
    kernels: ByteKernels,
    /// Through which bytes go that are copied within a buffer too large for one binding.
    scratch: Option<Allocation>,
    /// How many batches were refused. Blocks are checked at their next use after each.
    refusals: u64,
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
            batch: Batch::default(),
            owed: Owed::default(),
            parameters: Parameters::new(&setup.calls, &setup.compiler)?,
            bind_groups: BindGroups::default(),
            uploads: Uploads::new(),
            kernels: ByteKernels::default(),
            scratch: None,
            refusals: 0,
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

    /// Reports that a compute pass is open.
    fn is_in_pass(&self) -> bool {
        self.recording.batch.pass.is_some()
    }

    /// Makes room for one more command: a full batch is submitted.
    #[inline]
    fn make_room(&mut self) -> Result<(), WgpuError> {
        self.setup.calls.check()?;
        if self.recording.batch.commands >= BATCH {
            self.submit(Vec::new())?;
        }
        Ok(())
    }

    /// The encoder, outside of a pass, for one command on these buffers.
    fn encoder(&mut self, used: &[&Allocation]) -> Result<&mut wgpu::CommandEncoder, WgpuError> {
        for allocation in used {
            self.check_block(allocation)?;
        }
        self.make_room()?;
        self.recording.batch.count();
        self.setup.counters.copies.step();
        self.recording.batch.pass = None;
        Ok(self.recording.batch.encoder(self.setup))
    }

    /// Checks that the user has not destroyed a block's buffer. wgpu says so of a whole batch alone; once it has
    /// refused one, each block is tried at its next use.
    ///
    /// # Errors
    ///
    /// [`WgpuError::BufferDestroyed`].
    #[inline]
    fn check_block(&self, allocation: &Allocation) -> Result<(), WgpuError> {
        if allocation.is_checked(self.recording.refusals) {
            Ok(())
        } else {
            self.try_block(allocation)
        }
    }

    #[cold]
    fn try_block(&self, allocation: &Allocation) -> Result<(), WgpuError> {
        let calls = &self.setup.calls;
        let tried = calls.scoped(|| {
            let mut encoder = calls.device.create_command_encoder(&Default::default());
            // Of no bytes: wgpu looks at the buffer all the same.
            encoder.clear_buffer(&allocation.buffer, 0, Some(0));
            calls.queue.submit([encoder.finish()]);
        });
        match tried {
            Err(wgpu::Error::Validation { .. }) => {
                let (identity, bytes) = (allocation.identity, allocation.bytes);
                Err(WgpuError::BufferDestroyed { identity, bytes })
            }
            _ => {
                allocation.note_checked(self.recording.refusals);
                Ok(())
            }
        }
    }

    /// Returns how many commands are recorded and not submitted.
    pub(crate) fn pending(&self) -> usize {
        self.recording.batch.commands
    }
}
