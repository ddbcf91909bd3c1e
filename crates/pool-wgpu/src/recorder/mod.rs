//! Implements the recorder, which records all of a stream's commands in a batch, in call order.
//! Consecutive dispatches share one compute pass.

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

/// The commands that have been recorded but not yet submitted, and the objects that later commands
/// reuse.
#[derive(Debug)]
pub(crate) struct Recording {
    batch: Batch,
    owed: Owed,
    parameters: Parameters,
    bind_groups: BindGroups,
    uploads: Uploads,
    kernels: ByteKernels,
    /// A scratch buffer for copies within a buffer that is too large for a single binding.
    scratch: Option<Allocation>,
    /// The number of batches that wgpu has rejected. Each block is checked on its first use after
    /// wgpu has rejected a batch.
    refusals: u64,
}

/// The stream's own kernels. Each kernel is compiled on first use.
#[derive(Debug, Default)]
struct ByteKernels {
    fill: Option<Kernel>,
    copy: Option<Kernel>,
    copy_within: Option<Kernel>,
}

impl Recording {
    /// Creates an empty recording.
    ///
    /// # Errors
    ///
    /// Returns the same errors as [`Parameters::new`].
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

/// Exclusive access to a stream's recording.
#[derive(Debug)]
pub(crate) struct Recorder<'a> {
    setup: &'a Setup,
    recording: &'a mut Recording,
}

impl<'a> Recorder<'a> {
    /// Creates a recorder and drops the bind groups whose buffers have been freed since the
    /// recording was last used.
    #[inline]
    pub(crate) fn new(setup: &'a Setup, recording: &'a mut Recording, freed: &[u64]) -> Self {
        if !freed.is_empty() {
            recording.bind_groups.evict(freed);
        }
        Self { setup, recording }
    }

    /// Returns `true` if a compute pass is currently open.
    fn is_in_pass(&self) -> bool {
        self.recording.batch.pass.is_some()
    }

    /// Submits the batch if it is full, to make room for one more command.
    #[inline]
    fn make_room(&mut self) -> Result<(), WgpuError> {
        self.setup.calls.check()?;
        if self.recording.batch.commands >= BATCH {
            self.submit(Vec::new())?;
        }
        Ok(())
    }

    /// Ends the compute pass and returns the encoder for a single command that uses the given
    /// buffers.
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

    /// Checks that the user has not destroyed a block's buffer. If a buffer has been destroyed,
    /// wgpu rejects the whole batch with a message that does not identify the buffer. After wgpu
    /// has rejected a batch, each block is therefore checked when it is next used.
    ///
    /// # Errors
    ///
    /// Returns [`WgpuError::BufferDestroyed`] if the buffer has been destroyed.
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
            // This command clears no bytes, but wgpu still validates the buffer.
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

    /// Returns the number of commands that have been recorded but not yet submitted.
    pub(crate) fn pending(&self) -> usize {
        self.recording.batch.commands
    }
}
