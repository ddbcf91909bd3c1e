//! The parameters of the dispatches of one batch: a uniform that is written when the batch is submitted, read by each
//! dispatch at an offset of its own.

use crate::calls::Calls;
use crate::error::WgpuError;
use crate::kernel::{Compiler, PARAMETER_BYTES};

/// How many commands one batch has at most.
pub(crate) const BATCH: usize = 512;

/// The uniform, and what is to be written into it.
#[derive(Debug)]
pub(crate) struct Parameters {
    buffer: wgpu::Buffer,
    pub(crate) group: wgpu::BindGroup,
    bytes: Vec<u8>,
}

impl Parameters {
    /// Room for the parameters of a batch.
    ///
    /// # Errors
    ///
    /// [`WgpuError::OutOfMemory`] and [`WgpuError::DeviceLost`].
    pub(crate) fn new(calls: &Calls, compiler: &Compiler) -> Result<Self, WgpuError> {
        let descriptor = wgpu::BufferDescriptor {
            label: Some("pool-wgpu parameters"),
            size: (PARAMETER_BYTES * BATCH) as u64,
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
        Ok(Self { buffer, group, bytes: Vec::with_capacity(PARAMETER_BYTES * BATCH) })
    }

    /// Takes parameters, of at most [`PARAMETER_BYTES`], and returns the offset at which a dispatch reads them.
    #[inline]
    pub(crate) fn push(&mut self, parameters: &[u8]) -> u32 {
        let at = self.bytes.len();
        self.bytes.extend_from_slice(parameters);
        self.bytes.resize(at + PARAMETER_BYTES, 0);
        // A batch has far fewer bytes than 2³².
        u32::try_from(at).unwrap_or(0)
    }

    /// Writes the parameters of a batch, which is submitted next.
    pub(crate) fn write(&mut self, queue: &wgpu::Queue) {
        if !self.bytes.is_empty() {
            queue.write_buffer(&self.buffer, 0, &self.bytes);
            self.bytes.clear();
        }
    }
}
