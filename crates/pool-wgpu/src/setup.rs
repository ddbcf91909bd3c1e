//! Stores the parts of a stream that never change: the device, its limits, the compiler, and the
//! counters.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::calls::Calls;
use crate::counts::Counters;
use crate::ending;
use crate::error::WgpuError;
use crate::kernel::Compiler;

/// The parts of a stream that never change once it has been created.
#[derive(Debug)]
pub(crate) struct Setup {
    /// A number that identifies the stream within the process.
    pub(crate) number: u64,
    pub(crate) calls: Calls,
    pub(crate) limits: Limits,
    pub(crate) compiler: Compiler,
    pub(crate) counters: Counters,
    /// The usages of the buffers that the stream creates for blocks.
    pub(crate) usages: wgpu::BufferUsages,
}

/// The device's limits, stored here so that they can be read without calling wgpu.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limits {
    /// The alignment, in bytes, that the device requires for a binding's offset.
    pub(crate) alignment: u64,
    /// The maximum size of a binding, in bytes.
    pub(crate) binding: u64,
    /// The maximum size of a buffer, in bytes.
    pub(crate) buffer: u64,
    /// The maximum number of workgroups along one axis of a dispatch.
    pub(crate) groups: u32,
}

impl Setup {
    pub(crate) fn new(
        device: wgpu::Device,
        queue: wgpu::Queue,
        usages: wgpu::BufferUsages,
    ) -> Result<Self, WgpuError> {
        ending::check_not_ending()?;
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let limits = device.limits();
        let limits = Limits {
            alignment: u64::from(limits.min_storage_buffer_offset_alignment),
            // A binding's size is always a multiple of 4 bytes.
            binding: limits.max_storage_buffer_binding_size & !3,
            buffer: limits.max_buffer_size,
            groups: limits.max_compute_workgroups_per_dimension,
        };
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let calls = Calls::new(device, queue);
        calls.check_thread()?;
        calls.find_loss()?;
        calls.check_queue()?;
        let compiler = Compiler::new(&calls, number)?;
        Ok(Self { number, calls, limits, compiler, counters: Counters::default(), usages })
    }
}
