//! Manages staging buffers for copies to and from the host. A staging buffer is reused after the
//! device has finished using it.
//!
//! The CUDA crates record an event on the stream to detect when a staging buffer is no longer in
//! use. This crate instead maps the buffer to detect when it is no longer in use. A buffer must be
//! unmapped while the device uses it. wgpu runs a callback once it has mapped the buffer again.

use std::sync::{Arc, Mutex, PoisonError};

use crate::calls::Calls;
use crate::counts::Counters;
use crate::error::WgpuError;

/// The minimum size, in bytes, of a staging buffer. Larger sizes are multiples of this size.
const CHUNK: u64 = 1 << 16;
/// The maximum number of bytes copied through one staging buffer. Longer copies use several
/// buffers.
pub(crate) const PIECE: u64 = 1 << 24;
/// The maximum number of idle buffers. Any additional buffer that becomes idle is dropped.
const KEPT: usize = 32;
/// wgpu requires a mapped range's offset to be a multiple of this value, in bytes.
const MAP_ALIGNMENT: u64 = 8;

/// A staging buffer's copy direction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CopyDirection {
    /// Copies from the host to the device. The idle buffers for this direction are mapped.
    Upload,
    /// Copies from the device to the host. The idle buffers for this direction are not mapped.
    Download,
}

/// The idle staging buffers for one direction of copies.
#[derive(Debug)]
pub(crate) struct IdleBuffers {
    direction: CopyDirection,
    idle: Mutex<Vec<wgpu::Buffer>>,
}

impl IdleBuffers {
    pub(crate) fn new(direction: CopyDirection) -> Arc<Self> {
        Arc::new(Self { direction, idle: Mutex::default() })
    }

    /// Returns the smallest idle buffer with at least `bytes` bytes, or creates a buffer of
    /// sufficient size.
    ///
    /// # Errors
    ///
    /// Returns [`WgpuError::OutOfMemory`] if the device is out of memory, or
    /// [`WgpuError::DeviceLost`] if the device is lost.
    pub(crate) fn take(
        &self,
        calls: &Calls,
        counters: &Counters,
        bytes: u64,
    ) -> Result<wgpu::Buffer, WgpuError> {
        if let Some(idle) = self.take_idle(bytes) {
            return Ok(idle);
        }
        let usage = match self.direction {
            CopyDirection::Upload => wgpu::BufferUsages::MAP_WRITE | wgpu::BufferUsages::COPY_SRC,
            CopyDirection::Download => wgpu::BufferUsages::MAP_READ | wgpu::BufferUsages::COPY_DST,
        };
        let descriptor = wgpu::BufferDescriptor {
            label: Some("pool-wgpu staging"),
            size: rounded(bytes),
            usage,
            mapped_at_creation: self.direction == CopyDirection::Upload,
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

    /// Adds a buffer to the idle buffers. The buffer must be mapped if it is used for copies to the
    /// device, and unmapped otherwise.
    pub(crate) fn give(&self, buffer: wgpu::Buffer) {
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        let dropped = if idle.len() < KEPT {
            idle.push(buffer);
            None
        } else {
            Some(buffer)
        };
        // The lock is not held while the buffer is dropped, because wgpu might run user code.
        drop(idle);
        drop(dropped);
    }
}

/// Rounds a size up so that copies of other sizes can reuse the buffer.
fn rounded(bytes: u64) -> u64 {
    if bytes > PIECE { bytes.next_multiple_of(CHUNK) } else { bytes.max(CHUNK).next_power_of_two() }
}

/// The staging buffers for copies from the host to the device.
#[derive(Debug)]
pub(crate) struct Uploads {
    pool: Arc<IdleBuffers>,
}

/// The bytes that a batch uploads from the host.
#[derive(Debug, Default)]
pub(crate) struct Staged {
    /// The staging buffers that contain the batch's bytes. Only the last buffer receives new bytes.
    used: Vec<wgpu::Buffer>,
    /// The number of bytes used in the last buffer.
    filled: u64,
    /// The number of bytes staged by the batch so far.
    pub(crate) bytes: u64,
}

impl Staged {
    /// Unmaps the buffers. Call this method before the batch is submitted.
    pub(crate) fn unmap(&self) {
        self.used.iter().for_each(wgpu::Buffer::unmap);
    }
}

impl Uploads {
    pub(crate) fn new() -> Self {
        Self { pool: IdleBuffers::new(CopyDirection::Upload) }
    }

    /// Copies bytes into a staging buffer, from which one of the batch's commands can copy them.
    /// Returns the buffer and the offset of the bytes within it. The number of bytes must be a
    /// multiple of 4 and must not exceed [`PIECE`].
    ///
    /// # Errors
    ///
    /// Returns [`WgpuError::OutOfMemory`] if the device is out of memory, [`WgpuError::DeviceLost`]
    /// if the device is lost, or [`WgpuError::Unreadable`] if a buffer is not mapped.
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

    /// Asks wgpu to map a submitted batch's buffers after the device has finished using them. A
    /// buffer becomes idle once it has been mapped.
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
