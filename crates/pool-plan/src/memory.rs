//! Memories with different sizes and costs, and buffers that may be placed in some of them.

use crate::buffer::Buffer;

/// A memory for buffers, such as SRAM, PSRAM, or a device's heap.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Deserialize, serde::Serialize))]
#[cfg_attr(feature = "serde", serde(deny_unknown_fields))]
pub struct Memory {
    /// The memory's name, which must be unique in the problem.
    pub name: String,
    /// The memory's size in bytes, or `None` if the size is unlimited.
    #[cfg_attr(feature = "serde", serde(default, skip_serializing_if = "Option::is_none"))]
    pub capacity: Option<u64>,
    /// The cost of each byte from the start of the memory to the end of its highest buffer.
    #[cfg_attr(feature = "serde", serde(default = "crate::limits::unaligned"))]
    pub cost: u64,
    /// The cost of each byte read from or written to the memory.
    #[cfg_attr(feature = "serde", serde(default))]
    pub traffic_cost: u64,
}

impl Memory {
    /// Creates a memory without a capacity. Each byte of the memory costs 1, and traffic is free.
    #[must_use]
    pub fn new(name: impl Into<String>) -> Self {
        Self { name: name.into(), capacity: None, cost: 1, traffic_cost: 0 }
    }
}

/// A buffer, and the memories in which it may be placed.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
pub struct MemoryBuffer {
    /// The lifetime, size and alignment. A fixed offset is measured from the start of `memory`. If
    /// `memory` is `None`, the offset is measured from the start of the only permitted memory.
    pub buffer: Buffer,
    /// The indices of the memories in which the buffer may be placed, without duplicates.
    pub memories: Vec<usize>,
    /// The number of bytes read from and written to the buffer during its lifetime.
    pub traffic: u64,
    /// The memory in which the buffer must be placed, or `None` if the planner may choose the
    /// memory.
    pub memory: Option<usize>,
}

impl AsRef<Buffer> for MemoryBuffer {
    fn as_ref(&self) -> &Buffer {
        &self.buffer
    }
}

impl MemoryBuffer {
    /// Creates a buffer that may be placed in `memories`. The buffer's traffic is set to its size.
    #[must_use]
    pub fn new(buffer: Buffer, memories: impl IntoIterator<Item = usize>) -> Self {
        let traffic = buffer.size;
        Self { buffer, memories: memories.into_iter().collect(), traffic, memory: None }
    }

    /// Returns the memories in which the buffer may be placed. If `memory` is set, the buffer may
    /// be placed only in that memory.
    pub(crate) fn choices(&self) -> &[usize] {
        self.memory.as_ref().map_or(&self.memories, std::slice::from_ref)
    }
}

/// A buffer's memory, and the buffer's offset in that memory.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct Placement {
    /// The memory's index.
    pub memory: usize,
    /// The offset in bytes.
    pub offset: u64,
}

/// The price of each live byte in a given memory at a given time. A list of prices serves as the
/// proof of a bound.
///
/// For any set of prices, a plan's cost is at least the sum of all buffers' minimum costs. A
/// buffer's minimum cost is its lowest cost in any of its permitted memories. A buffer's cost in a
/// memory is the cost of its traffic plus its size times the sum of the prices over its lifetime.
/// The sum of a memory's prices may exceed its cost per byte. If the sum exceeds the cost per byte,
/// the bound is lower by the excess multiplied by the memory's capacity. If a memory has no
/// capacity, its prices must not add up to more than its cost per byte. (The prices solve the dual
/// of the linear program that assigns buffers to memories.)
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct Price {
    /// The memory's index.
    pub memory: usize,
    /// The time for which the price applies.
    pub time: i64,
    /// The price of a byte. A price of [`Price::UNIT`] corresponds to a cost of 1.
    pub price: u64,
}

impl Price {
    /// The price that corresponds to a cost of 1.
    pub const UNIT: u64 = 1 << 16;
    /// The maximum sum of one memory's prices.
    pub const MOST: u64 = 1 << 56;
}
