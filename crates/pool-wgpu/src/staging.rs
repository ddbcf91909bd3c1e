//! Buffers that stage bytes from and to the host. They are reused once the device has finished with
//! them.
//!
//! The CUDA crates stage copies differently: there, an event on the stream shows that a buffer is
//! free. Here, wgpu maps a buffer for the host and unmaps it for the device, and runs a callback
//! once the buffer is mapped again.

use std::sync::{Arc, Mutex, PoisonError};

use crate::calls::Calls;
use crate::counts::Counters;
use crate::error::WgpuError;

/// The minimum size of a staging buffer, and the granularity of larger sizes, in bytes.
const CHUNK: u64 = 1 << 16;
/// The maximum size of one staging buffer, in bytes. Longer copies use several buffers.
pub(crate) const PIECE: u64 = 1 << 24;
/// The maximum number of idle buffers. Further buffers are dropped.
const KEPT: usize = 32;
/// The required alignment of the offset of a mapped range, in bytes.
const MAP_ALIGNMENT: u64 = 8;

/// The direction of a copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Way {
    /// From the host. Idle buffers are mapped.
    Up,
    /// To the host. Idle buffers are not mapped.
    Down,
}

/// The idle staging buffers for one direction.
#[derive(Debug)]
pub(crate) struct IdleBuffers {
    way: Way,
    idle: Mutex<Vec<wgpu::Buffer>>,
}

impl IdleBuffers {
    pub(crate) fn new(way: Way) -> Arc<Self> {
        Arc::new(Self { way, idle: Mutex::default() })
    }

    /// Takes the smallest idle buffer that holds at least `bytes` bytes, or creates one.
    ///
    /// # Errors
    ///
    /// [`WgpuError::OutOfMemory`] or [`WgpuError::DeviceLost`].
    pub(crate) fn take(
        &self,
        calls: &Calls,
        counters: &Counters,
        bytes: u64,
    ) -> Result<wgpu::Buffer, WgpuError> {
        if let Some(idle) = self.take_idle(bytes) {
            return Ok(idle);
        }
        let usage = match self.way {
            Way::Up => wgpu::BufferUsages::MAP_WRITE | wgpu::BufferUsages::COPY_SRC,
            Way::Down => wgpu::BufferUsages::MAP_READ | wgpu::BufferUsages::COPY_DST,
        };
        let descriptor = wgpu::BufferDescriptor {
            label: Some("pool-wgpu staging"),
            size: rounded(bytes),
            usage,
            mapped_at_creation: self.way == Way::Up,
        };
        let buffer = calls.create_buffer(&descriptor, u64::MAX)?;
        counters.staging_buffers_created.step();
        Ok(buffer)
    }

    fn take_idle(&self, bytes: u64) -> Option<wgpu::Buffer> {
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        let fitting = idle.iter().enumerate().filter(|(_, buffer)| buffer.size() >= bytes);
        let (at, _) = fitting.min_by_key(|(_, buffer)| buffer.size())?;
        Some(idle.swap_remove(at))
    }

    /// Returns a buffer, which must be mapped or unmapped as this direction's idle buffers are.
    pub(crate) fn give(&self, buffer: wgpu::Buffer) {
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        let dropped = if idle.len() < KEPT {
            idle.push(buffer);
            None
        } else {
            Some(buffer)
        };
        // The lock is not held during the drop, because wgpu runs foreign code.
        drop(idle);
        drop(dropped);
    }
}

/// Rounds a size up, so that the buffer can also serve other copies.
fn rounded(bytes: u64) -> u64 {
    if bytes > PIECE { bytes.next_multiple_of(CHUNK) } else { bytes.max(CHUNK).next_power_of_two() }
}

/// The staging buffers for uploads.
#[derive(Debug)]
pub(crate) struct Uploads {
    pool: Arc<IdleBuffers>,
}

/// The bytes that one batch uploads from the host.
#[derive(Debug, Default)]
pub(crate) struct Staged {
    /// The buffers that hold the batch's bytes. The last buffer is being filled.
    used: Vec<wgpu::Buffer>,
    /// The number of bytes used in the last buffer.
    filled: u64,
    /// The number of bytes that the batch has staged so far.
    pub(crate) bytes: u64,
}

impl Staged {
    /// Unmaps the buffers. This must happen before the batch is submitted.
    pub(crate) fn unmap(&self) {
        self.used.iter().for_each(wgpu::Buffer::unmap);
    }
}

impl Uploads {
    pub(crate) fn new() -> Self {
        Self { pool: IdleBuffers::new(Way::Up) }
    }

    /// Stages bytes for a copy command of the batch. The length must be a multiple of 4, and at
    /// most [`PIECE`].
    ///
    /// # Errors
    ///
    /// [`WgpuError::OutOfMemory`], [`WgpuError::DeviceLost`], or [`WgpuError::Unreadable`] if a
    /// buffer is not mapped.
    pub(crate) fn stage(
        &self,
        calls: &Calls,
        counters: &Counters,
        staged: &mut Staged,
        bytes: &[u8],
    ) -> Result<(wgpu::Buffer, u64), WgpuError> {
        let count = bytes.len() as u64;
        let last = staged.used.last().filter(|buffer| buffer.size() - staged.filled >= count);
        let buffer = match last {
            Some(buffer) => buffer.clone(),
            None => {
                let buffer = self.pool.take(calls, counters, count)?;
                staged.used.push(buffer.clone());
                staged.filled = 0;
                buffer
            }
        };
        let at = staged.filled;
        match buffer.get_mapped_range_mut(at..at + count) {
            Ok(mut mapped) => mapped.copy_from_slice(bytes),
            Err(error) => {
                calls.find_loss()?;
                return Err(WgpuError::Unreadable { message: error.to_string() });
            }
        }
        staged.filled = (at + count).next_multiple_of(MAP_ALIGNMENT).min(buffer.size());
        staged.bytes += count;
        Ok((buffer, at))
    }

    /// Requests wgpu to map a submitted batch's buffers once the device has finished with them.
    /// Each buffer then becomes idle.
    pub(crate) fn recall(&self, staged: &mut Staged) {
        (staged.filled, staged.bytes) = (0, 0);
        for buffer in staged.used.drain(..) {
            let (pool, mapped) = (Arc::clone(&self.pool), buffer.clone());
            buffer.map_async(wgpu::MapMode::Write, .., move |answer| {
                if answer.is_ok() {
                    pool.give(mapped);
                }
            });
        }
    }
}
