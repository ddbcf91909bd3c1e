//! The parameters of all dispatches in one batch. They share one uniform, which is written when the
//! batch is submitted. Each dispatch reads at its own offset. The first range stays zero, for
//! dispatches without parameters.

use crate::calls::Calls;
use crate::error::WgpuError;
use crate::kernel::{Compiler, PARAMETER_BYTES};

/// The maximum number of commands in a batch.
pub(crate) const BATCH: usize = 512;

/// The uniform buffer of a stream.
#[derive(Debug)]
pub(crate) struct Parameters {
    buffer: wgpu::Buffer,
    pub(crate) group: wgpu::BindGroup,
}

/// The bytes that are written into the uniform for one batch.
#[derive(Debug, Default)]
pub(crate) struct BatchParameters(Vec<u8>);

impl BatchParameters {
    /// Adds parameters of at most [`PARAMETER_BYTES`], and returns the offset at which a dispatch
    /// reads them.
    #[inline]
    pub(crate) fn push(&mut self, parameters: &[u8]) -> u32 {
        if parameters.is_empty() {
            return 0;
        }
        let at = self.0.len();
        self.0.extend_from_slice(parameters);
        self.0.resize(at + PARAMETER_BYTES, 0);
        // The parameters of a batch are far smaller than 2³² bytes.
        u32::try_from(at + PARAMETER_BYTES).unwrap_or(0)
    }

    /// Removes all parameters, and keeps the capacity.
    pub(crate) fn clear(&mut self) {
        self.0.clear();
    }
}

impl Parameters {
    /// Allocates the uniform that holds the parameters of a batch.
    ///
    /// # Errors
    ///
    /// [`WgpuError::OutOfMemory`] or [`WgpuError::DeviceLost`].
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

    /// Writes the parameters of the batch that is submitted next.
    pub(crate) fn write(&self, queue: &wgpu::Queue, parameters: &BatchParameters) {
        if !parameters.0.is_empty() {
            queue.write_buffer(&self.buffer, PARAMETER_BYTES as u64, &parameters.0);
        }
    }
}
