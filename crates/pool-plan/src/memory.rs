//! Memories of different size and cost, and a buffer that may lie in some of them.

use crate::buffer::Buffer;

/// A memory for buffers, such as SRAM, PSRAM or the heap of a device.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Deserialize, serde::Serialize))]
#[cfg_attr(feature = "serde", serde(deny_unknown_fields))]
pub struct Memory {
    /// The memory's name, unique in the problem.
    pub name: String,
    /// The capacity in bytes, if it is limited.
    #[cfg_attr(feature = "serde", serde(default, skip_serializing_if = "Option::is_none"))]
    pub capacity: Option<u64>,
    /// The cost of each byte up to the end of the highest buffer in the memory.
    #[cfg_attr(feature = "serde", serde(default = "crate::limits::unaligned"))]
    pub cost: u64,
    /// The cost of each byte that is read or written in the memory.
    #[cfg_attr(feature = "serde", serde(default))]
    pub traffic_cost: u64,
}

impl Memory {
    /// Makes a memory without a limit, of cost 1 for each held byte, and 0 for traffic.
    #[must_use]
    pub fn new(name: impl Into<String>) -> Self {
        Self { name: name.into(), capacity: None, cost: 1, traffic_cost: 0 }
    }
}

/// A buffer with the memories that it may lie in.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
pub struct MemoryBuffer {
    /// The lifetime, size and alignment. An offset is a place in `memory`, or in the only allowed memory.
    pub buffer: Buffer,
    /// Indices of the memories that the buffer may lie in, without repetition.
    pub memories: Vec<usize>,
    /// The bytes that are read from the buffer and written to it in its lifetime.
    pub traffic: u64,
    /// The memory in which the buffer must lie, if one is given.
    pub memory: Option<usize>,
}

impl AsRef<Buffer> for MemoryBuffer {
    fn as_ref(&self) -> &Buffer {
        &self.buffer
    }
}

impl MemoryBuffer {
    /// Makes a buffer that may lie in `memories`, with its size as traffic.
    #[must_use]
    pub fn new(buffer: Buffer, memories: impl IntoIterator<Item = usize>) -> Self {
        let traffic = buffer.size;
        Self { buffer, memories: memories.into_iter().collect(), traffic, memory: None }
    }

    /// Returns the memories that remain: the given one, or all allowed ones.
    pub(crate) fn choices(&self) -> &[usize] {
        self.memory.as_ref().map_or(&self.memories, std::slice::from_ref)
    }
}

/// The memory of a buffer, and its offset in that memory.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct Placement {
    /// The index of the memory.
    pub memory: usize,
    /// The offset in bytes.
    pub offset: u64,
}

/// The price of each byte that is live at one time in one memory. Prices are the witness of a bound.
///
/// In a memory, a buffer costs its traffic there, and its size times the prices at the times at which it is live. For
/// any prices, a plan's cost is at least the sum of the least costs of all buffers. If the prices of a memory add up to
/// more than its cost of a byte, the excess times its capacity is subtracted from the sum. Without a capacity they may
/// not exceed it. (Prices are a solution of the dual of the linear program that assigns buffers to memories.)
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct Price {
    /// The index of the memory.
    pub memory: usize,
    /// The time.
    pub time: i64,
    /// The price, in parts of [`Price::UNIT`].
    pub price: u64,
}

impl Price {
    /// The price that equals a cost of 1.
    pub const UNIT: u64 = 1 << 16;
    /// The maximum sum of the prices of one memory.
    pub const MOST: u64 = 1 << 56;
}
