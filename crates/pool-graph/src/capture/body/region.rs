//! The memory of a body: temporaries of the arena and blocks that the graph keeps, with their last
//! users.

use std::collections::BTreeMap;

use super::call_site::CallSite;
use super::trace::Memory;
use crate::base::block::GraphMemoryBlock;
use crate::base::range::LeasedRange;

/// Memory that operations of a body use.
#[derive(Clone, Debug)]
pub(crate) struct Region {
    /// The name of the region in steps.
    pub(crate) name: Memory,
    pub(crate) address: u64,
    /// The bytes of the region; those of a temporary are whole granules.
    pub(crate) bytes: u64,
    /// The offset of the region in the arena; `None` for other memory.
    pub(crate) offset: Option<u64>,
    /// The operation of the model at which it was allocated.
    pub(crate) taken_by: usize,
    /// The handles of the stream's last nodes at the allocation: every use comes after all of them.
    pub(crate) after: Vec<u64>,
    /// The stream of the last write; at first that of the allocation.
    pub(crate) writer: usize,
    /// The streams that have read the region since its last write.
    pub(crate) readers: Vec<usize>,
    /// The uses of the region on each stream.
    pub(crate) users: BTreeMap<usize, Uses>,
    /// `true` for a block that the graph may write.
    pub(crate) written: bool,
    /// `true` for a block of a scope's pool, which is in use until the capture ends.
    pub(crate) kept: bool,
    /// `true` while the region is lent to a device view, whose uses are not recorded.
    pub(crate) lent: bool,
    /// The call that requested it.
    pub(crate) site: CallSite,
    /// The notes about its uses.
    pub(crate) access: RegionAccess,
}

/// The notes about the uses of a region, besides their streams.
#[derive(Clone, Debug)]
pub(crate) enum RegionAccess {
    /// Nothing more.
    Unlisted,
    /// Nothing: the session owns the region, and nothing writes it. No use waits for another one.
    ReadOnly,
    /// All uses, in turns: the session owns the region, and the verifier checks that each turn comes after the one before.
    Listed(Vec<Turn>),
}

/// Uses of a region that need no order among themselves: one that writes, or any number that read.
#[derive(Clone, Debug)]
pub(crate) struct Turn {
    pub(crate) writes: bool,
    /// The handles of the nodes that use the region; empty if they are unknown.
    pub(crate) uses: Vec<u64>,
    /// The handles of the nodes at which the uses end.
    pub(crate) until: Vec<u64>,
}

/// The place of a temporary.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ArenaRange {
    pub(crate) address: u64,
    pub(crate) bytes: u64,
    pub(crate) offset: u64,
}

/// The uses of a region on one stream.
#[derive(Clone, Debug, Default)]
pub(crate) struct Uses {
    /// The number of the last one in the model.
    pub(crate) operation: usize,
    /// The handles of the nodes that use it, if the capture put them there; empty in a dry run.
    pub(crate) known: Vec<u64>,
    /// The handles of the nodes where its use ends: each use is one of them or precedes one. For an
    /// operation they are its own. For a loan they are the stream's last nodes, after it was
    /// ordered after all users of the view.
    pub(crate) until: Vec<u64>,
}

impl Region {
    /// Creates a temporary at a place of the arena, which a stream uses after these nodes.
    pub(crate) fn temporary(name: usize, stream: usize, at: ArenaRange, after: Vec<u64>) -> Self {
        let ArenaRange { address, bytes, offset } = at;
        let own = Self::new(Memory::Temporary(name), address, bytes);
        Self { offset: Some(offset), after, writer: stream, ..own }
    }

    /// Creates the region of a block that the graph keeps.
    pub(crate) fn block(block: &GraphMemoryBlock) -> Self {
        Self::new(Memory::Block(block.id()), block.address(), block.size())
    }

    /// Memory that the session owns.
    pub(crate) fn owned(place: usize, range: LeasedRange, is_written: bool) -> Self {
        let access = match is_written {
            true => RegionAccess::Listed(Vec::new()),
            false => RegionAccess::ReadOnly,
        };
        Self { access, ..Self::new(Memory::Owned(place), range.address, range.bytes) }
    }

    pub(crate) fn is_read_only(&self) -> bool {
        matches!(self.access, RegionAccess::ReadOnly)
    }

    /// The uses of memory that is owned and written; none of other memory.
    pub(crate) fn turns(&self) -> Option<&[Turn]> {
        match &self.access {
            RegionAccess::Listed(turns) => Some(turns),
            RegionAccess::Unlisted | RegionAccess::ReadOnly => None,
        }
    }

    fn new(name: Memory, address: u64, bytes: u64) -> Self {
        Self {
            name,
            address,
            bytes,
            offset: None,
            taken_by: 0,
            after: Vec::new(),
            writer: 0,
            readers: Vec::new(),
            users: BTreeMap::new(),
            written: false,
            kept: false,
            lent: false,
            site: CallSite::default(),
            access: RegionAccess::Unlisted,
        }
    }

    pub(crate) fn is_temporary(&self) -> bool {
        self.offset.is_some()
    }

    /// Returns the streams that must precede a use on a stream.
    pub(crate) fn waited_for(&self, writes: bool) -> Vec<usize> {
        let readers = self.readers.iter().copied().filter(|_| writes);
        std::iter::once(self.writer).chain(readers).collect()
    }

    /// Records a use of the region by an operation, which ends in these nodes.
    pub(crate) fn used(&mut self, stream: usize, writes: bool, operation: usize, nodes: &[u64]) {
        let on_stream = self.users.entry(stream).or_default();
        on_stream.operation = operation;
        on_stream.known.extend_from_slice(nodes);
        on_stream.end_at(nodes);
        if let RegionAccess::Listed(turns) = &mut self.access {
            list(turns, writes, nodes);
        }
        if writes {
            self.writer = stream;
            self.readers.clear();
        } else if !self.readers.contains(&stream) {
            self.readers.push(stream);
        }
    }

    /// Records that unrecorded uses of the region have ended at a stream's last nodes.
    pub(crate) fn ended(&mut self, stream: usize, operation: usize, nodes: &[u64]) {
        self.used(stream, true, operation, &[]);
        self.users.entry(stream).or_default().end_at(nodes);
        if let (RegionAccess::Listed(turns), false) = (&mut self.access, nodes.is_empty()) {
            turns.push(Turn { writes: true, uses: Vec::new(), until: nodes.to_vec() });
        }
    }
}

/// Lists a use by these nodes.
fn list(turns: &mut Vec<Turn>, writes: bool, nodes: &[u64]) {
    if nodes.is_empty() {
        return;
    }
    let new = || Turn { writes, uses: nodes.to_vec(), until: nodes.to_vec() };
    match (turns.last_mut(), writes) {
        // One operation that names the region twice is one use.
        (Some(last), _) if last.writes && last.uses == nodes => {}
        (Some(last), false) if !last.writes => {
            last.uses.extend_from_slice(nodes);
            last.until.extend_from_slice(nodes);
        }
        (Some(last), true) if !last.writes => {
            last.uses.retain(|node| !nodes.contains(node));
            last.until.retain(|node| !nodes.contains(node));
            if last.until.is_empty() {
                turns.pop();
            }
            turns.push(new());
        }
        _ => turns.push(new()),
    }
}

impl Uses {
    /// Ends uses that added no node at the stream's earlier nodes.
    fn end_at(&mut self, nodes: &[u64]) {
        if !nodes.is_empty() {
            self.until = nodes.to_vec();
        }
    }
}
