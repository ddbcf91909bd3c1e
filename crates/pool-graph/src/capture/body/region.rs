//! What a body uses: temporaries of the arena and blocks that the graph keeps, and who used them last.

use std::collections::BTreeMap;

use super::call_site::CallSite;
use super::trace::Memory;
use crate::base::block::GraphMemoryBlock;

/// Memory that operations of a body use.
#[derive(Clone, Debug)]
pub(crate) struct Region {
    /// The name by which steps call the region.
    pub(crate) name: Memory,
    pub(crate) address: u64,
    /// The bytes of the region; those of a temporary are in whole granules.
    pub(crate) bytes: u64,
    /// Where the region lies in the arena; none for memory that is not from there.
    pub(crate) offset: Option<u64>,
    /// The operation of the model that stands for taking it.
    pub(crate) taken_by: usize,
    /// What the stream that took it had before, in the graph.
    pub(crate) after: Vec<u64>,
    /// How many nodes had been met when it was taken, or lent: those are no uses of what is kept or lent.
    pub(crate) since: usize,
    /// The stream of the last write; at first the one that took it.
    pub(crate) writer: usize,
    /// The streams that have read the region since its last write.
    pub(crate) readers: Vec<usize>,
    /// The uses of the region on each stream.
    pub(crate) users: BTreeMap<usize, Uses>,
    /// Whether the region is a block that the graph has for writing.
    pub(crate) written: bool,
    /// Whether the region is a block of a scope's pool, which is in use until the capture ends.
    pub(crate) kept: bool,
    /// Whether the region is lent to a device view now, whose uses nobody notes.
    pub(crate) lent: bool,
    /// Who asked for it.
    pub(crate) site: CallSite,
}

/// Where a temporary lies.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ArenaRange {
    pub(crate) address: u64,
    pub(crate) bytes: u64,
    pub(crate) offset: u64,
}

/// The uses of a region on one stream.
#[derive(Clone, Debug, Default)]
pub(crate) struct Uses {
    pub(crate) last: Markers,
    /// The handles of the nodes of those before it.
    pub(crate) earlier: Vec<u64>,
}

/// One use of a region.
#[derive(Clone, Debug, Default)]
pub(crate) struct Markers {
    /// The number of the operation in the model.
    pub(crate) operation: usize,
    /// The handles of the nodes that came to be the stream's last with it; none in a dry run.
    pub(crate) nodes: Vec<u64>,
}

impl Region {
    /// A temporary at a place of the arena, which a stream comes to after these nodes.
    pub(crate) fn temporary(name: usize, stream: usize, at: ArenaRange, after: Vec<u64>) -> Self {
        let ArenaRange { address, bytes, offset } = at;
        let own = Self::new(Memory::Temporary(name), address, bytes);
        Self { offset: Some(offset), after, writer: stream, ..own }
    }

    /// A block that the graph keeps.
    pub(crate) fn block(block: &GraphMemoryBlock) -> Self {
        Self::new(Memory::Block(block.id()), block.device_pointer(), block.size())
    }

    fn new(name: Memory, address: u64, bytes: u64) -> Self {
        Self {
            name,
            address,
            bytes,
            offset: None,
            taken_by: 0,
            after: Vec::new(),
            since: 0,
            writer: 0,
            readers: Vec::new(),
            users: BTreeMap::new(),
            written: false,
            kept: false,
            lent: false,
            site: CallSite::default(),
        }
    }

    pub(crate) fn is_temporary(&self) -> bool {
        self.offset.is_some()
    }

    /// Streams that must come before a use on a stream.
    pub(crate) fn waited_for(&self, writes: bool) -> Vec<usize> {
        let readers = self.readers.iter().copied().filter(|_| writes);
        std::iter::once(self.writer).chain(readers).collect()
    }

    /// Notes a use of the region.
    pub(crate) fn used(&mut self, stream: usize, writes: bool, markers: Markers) {
        let on_stream = self.users.entry(stream).or_default();
        on_stream.last.operation = markers.operation;
        // Work that put nothing on the stream comes to no node.
        if !markers.nodes.is_empty() {
            let before = std::mem::replace(&mut on_stream.last.nodes, markers.nodes);
            on_stream.earlier.extend(before);
        }
        if writes {
            self.writer = stream;
            self.readers.clear();
        } else if !self.readers.contains(&stream) {
            self.readers.push(stream);
        }
    }
}
