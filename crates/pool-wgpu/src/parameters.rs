//! Stores the parameters of all dispatches in a batch. One uniform buffer contains these parameters
//! and is written when the batch is submitted. Each dispatch reads its parameters at its own
//! offset. The buffer's first range contains only zeros, which serve as the parameters of
//! dispatches without parameters.

use crate::calls::Calls;
use crate::error::WgpuError;
use crate::kernel::{Compiler, PARAMETER_BYTES};

/// The maximum number of commands in one batch.
pub(crate) const BATCH: usize = 512;

/// The uniform buffer that contains a stream's parameters.
#[derive(Debug)]
pub(crate) struct Parameters {
    buffer: wgpu::Buffer,
    pub(crate) group: wgpu::BindGroup,
}

/// The bytes to write to the uniform buffer for one batch.
#[derive(Debug, Default)]
pub(crate) struct BatchParameters(Vec<u8>);

impl BatchParameters {
    /// Adds a dispatch's parameters and returns their offset. The parameters must not be longer
    /// than [`PARAMETER_BYTES`].
    #[inline]
    pub(crate) fn push(&mut self, parameters: &[u8]) -> u32 {
        if parameters.is_empty() {
            return 0;
        }
        let at = self.0.len();
        self.0.extend_from_slice(parameters);
        self.0.resize(at + PARAMETER_BYTES, 0);
        // The conversion cannot fail, because a batch has far fewer than 2³² parameter bytes.
        u32::try_from(at + PARAMETER_BYTES).unwrap_or(0)
    }

    /// Removes all parameters but retains the allocated memory.
    pub(crate) fn clear(&mut self) {
        self.0.clear();
    }
}

impl Parameters {
    /// Creates the uniform buffer for the parameters of all batches.
    ///
    /// # Errors
    ///
    /// Returns [`WgpuError::OutOfMemory`] if the device is out of memory, or
    /// [`WgpuError::DeviceLost`] if the device is lost.
    pub(crate) fn new(calls: &Calls, compiler: &Compiler) -> Result<Self, WgpuError> {
        let descriptor = wgpu::BufferDescriptor {
            label: Some("pool-wgpu parameters"),
            size: (PARAMETER_BYTES * (1 + BATCH)) as u64,
            usage: wgpu::BufferUsages::UNIFORM | wgpu::BufferUsages::COPY_DST,
            mapped_at_creation: false,
        };
        let buffer = calls.create_buffer(&descriptor, u64::MAX)?;
        let binding = wgpu::BufferBinding {
            buffer: &buffer,
            offset: 0,
            size: wgpu::BufferSize::new(PARAMETER_BYTES as u64),
        };
        let resource = wgpu::BindingResource::Buffer(binding);
        let descriptor = wgpu::BindGroupDescriptor {
            label: Some("pool-wgpu parameters"),
            layout: compiler.parameters(),
            entries: &[wgpu::BindGroupEntry { binding: 0, resource }],
        };
        let group = calls.scoped(|| calls.device.create_bind_group(&descriptor));
        let group = group.map_err(|error| WgpuError::refused(&error))?;
        Ok(Self { buffer, group })
    }

    /// Writes the next batch's parameters to the uniform buffer.
    pub(crate) fn write(&self, queue: &wgpu::Queue, parameters: &BatchParameters) {
        if !parameters.0.is_empty() {
            queue.write_buffer(&self.buffer, PARAMETER_BYTES as u64, &parameters.0);
        }
    }
}
