//! Buffers that stage bytes from and to the host, reused after the device is done with them.
//!
//! This is not the staging of the CUDA crates. There, an event in the stream's order shows that a
//! buffer is free. wgpu maps a buffer for the host and unmaps it for the device, and calls back
//! when a buffer is mapped again.

use std::sync::{Arc, Mutex, PoisonError};

use crate::calls::Calls;
use crate::counts::Counters;
use crate::error::WgpuError;

/// The minimum bytes of a staging buffer, and the unit of their sizes.
const CHUNK: u64 = 1 << 16;
/// The maximum bytes of one staging buffer: longer copies use several.
pub(crate) const PIECE: u64 = 1 << 24;
/// The maximum number of idle buffers; others are dropped.
const KEPT: usize = 32;
/// The required alignment of a mapped range's offset.
const MAP_ALIGNMENT: u64 = 8;

/// The direction of a copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Way {
    /// From the host: idle buffers are mapped.
    Up,
    /// To the host: idle buffers are not mapped.
    Down,
}

/// Idle staging buffers of one direction.
#[derive(Debug)]
pub(crate) struct IdleBuffers {
    way: Way,
    idle: Mutex<Vec<wgpu::Buffer>>,
}

impl IdleBuffers {
    pub(crate) fn new(way: Way) -> Arc<Self> {
        Arc::new(Self { way, idle: Mutex::default() })
    }

    /// Takes a buffer of at least `bytes` bytes: the smallest idle one, or a new one.
    ///
    /// # Errors
    ///
    /// [`WgpuError::OutOfMemory`] and [`WgpuError::DeviceLost`].
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

    /// Takes a buffer back, mapped or not as idle ones of this direction are.
    pub(crate) fn give(&self, buffer: wgpu::Buffer) {
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        let dropped = if idle.len() < KEPT {
            idle.push(buffer);
            None
        } else {
            Some(buffer)
        };
        // Not under the lock, because wgpu runs foreign code.
        drop(idle);
        drop(dropped);
    }
}

/// Rounds a size up so that the buffer serves other copies, too.
fn rounded(bytes: u64) -> u64 {
    if bytes > PIECE { bytes.next_multiple_of(CHUNK) } else { bytes.max(CHUNK).next_power_of_two() }
}

/// The staging of uploads.
#[derive(Debug)]
pub(crate) struct Uploads {
    pool: Arc<IdleBuffers>,
}

/// The bytes that one batch copies from the host.
#[derive(Debug, Default)]
pub(crate) struct Staged {
    /// Buffers with bytes of the batch; the last one is being filled.
    used: Vec<wgpu::Buffer>,
    /// The number of used bytes of the last buffer.
    filled: u64,
    /// The number of bytes that the batch has staged.
    pub(crate) bytes: u64,
}

impl Staged {
    /// Unmaps the buffers, before the batch is submitted.
    pub(crate) fn unmap(&self) {
        self.used.iter().for_each(wgpu::Buffer::unmap);
    }
}

impl Uploads {
    pub(crate) fn new() -> Self {
        Self { pool: IdleBuffers::new(Way::Up) }
    }

    /// Stages bytes, a multiple of 4 and at most [`PIECE`], for a copy command of the batch.
    ///
    /// # Errors
    ///
    /// [`WgpuError::OutOfMemory`], [`WgpuError::DeviceLost`], and [`WgpuError::Unreadable`] if a
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

    /// Requests that the buffers of a batch, which was submitted, are mapped and idle again when
    /// the device is done.
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
