//! The memory regions that a body uses, and each region's last uses. A region is either a temporary
//! in the arena or memory that the graph retains.

use std::collections::BTreeMap;

use super::call_site::CallSite;
use super::trace::Memory;
use crate::base::block::GraphMemoryBlock;
use crate::base::range::LeasedRange;

/// A range of memory that a body's operations use.
#[derive(Clone, Debug)]
pub(crate) struct Region {
    /// The name that identifies the region in the body's steps.
    pub(crate) name: Memory,
    pub(crate) address: u64,
    /// The region's size in bytes. If the region is a temporary, its size is a multiple of the
    /// granule.
    pub(crate) bytes: u64,
    /// The region's offset in the arena, or `None` if the region lies elsewhere.
    pub(crate) offset: Option<u64>,
    /// The number that the model assigned to the operation that allocated the region.
    pub(crate) taken_by: usize,
    /// The handles of the nodes that were last on the stream when the region was allocated. All
    /// uses of the region come after these nodes.
    pub(crate) after: Vec<u64>,
    /// The stream that last wrote to the region. Before the first write, this field contains the
    /// stream on which the region was allocated.
    pub(crate) writer: usize,
    /// The streams that have read the region since the last write.
    pub(crate) readers: Vec<usize>,
    /// The region's uses on each stream.
    pub(crate) users: BTreeMap<usize, Uses>,
    /// `true` if the region is a block that the graph may write to.
    pub(crate) written: bool,
    /// `true` if the memory stays in use until the capture ends, which is the case for scope
    /// blocks.
    pub(crate) kept: bool,
    /// `true` while the region is lent to a device view. Uses of a lent view are not recorded.
    pub(crate) lent: bool,
    /// The location of the call that allocated the region.
    pub(crate) site: CallSite,
    /// The level of detail at which the region's uses are recorded. Uses are recorded in detail
    /// only for memory that the session owns.
    pub(crate) access: RegionAccess,
}

/// The level of detail at which a region's uses are recorded.
#[derive(Clone, Debug)]
pub(crate) enum RegionAccess {
    /// No details are recorded, because the session does not own the region.
    Unlisted,
    /// No details are recorded, because the session owns the region and no graph writes to it. The
    /// region's uses do not wait for one another.
    ReadOnly,
    /// The list of all uses, divided into groups. The session owns the region, and the verifier
    /// checks that each group of uses follows the previous one.
    Listed(Vec<UseGroup>),
}

/// A group of uses that may occur in any order. A group consists of a single write or any number of
/// reads.
#[derive(Clone, Debug)]
pub(crate) struct UseGroup {
    pub(crate) writes: bool,
    /// The handles of the nodes that use the region. The list is empty if these nodes are unknown.
    pub(crate) uses: Vec<u64>,
    /// The handles of the last nodes in this group of uses.
    pub(crate) until: Vec<u64>,
}

/// A temporary's address range and its offset in the arena.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ArenaRange {
    pub(crate) address: u64,
    pub(crate) bytes: u64,
    pub(crate) offset: u64,
}

/// A region's uses on one stream.
#[derive(Clone, Debug, Default)]
pub(crate) struct Uses {
    /// The number that the model assigned to the last operation that uses the region.
    pub(crate) operation: usize,
    /// The handles of the nodes that use the region and were added by the capture itself. The list
    /// is empty in a dry run.
    pub(crate) known: Vec<u64>,
    /// The handles of the last nodes on this stream that use the region. Each node that uses the
    /// region is one of these nodes or precedes one of them. If an operation uses the region, the
    /// list contains that operation's nodes. If the region is lent, the list contains the stream's
    /// last nodes, which already follow all uses of the view.
    pub(crate) until: Vec<u64>,
}

impl Region {
    /// Creates a temporary that occupies a range of the arena. On `stream`, all uses of the
    /// temporary follow the `after` nodes.
    pub(crate) fn temporary(name: usize, stream: usize, at: ArenaRange, after: Vec<u64>) -> Self {
        let ArenaRange { address, bytes, offset } = at;
        let own = Self::new(Memory::Temporary(name), address, bytes);
        Self { offset: Some(offset), after, writer: stream, ..own }
    }

    /// Creates the region for a block that the graph retains.
    pub(crate) fn block(block: &GraphMemoryBlock) -> Self {
        Self::new(Memory::Block(block.id()), block.address(), block.size())
    }

    /// Creates the region for memory that the session owns.
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

    /// Returns a region's groups of uses if the session owns the region and graphs may write to it.
    /// Returns `None` for a region of any other kind.
    pub(crate) fn use_groups(&self) -> Option<&[UseGroup]> {
        match &self.access {
            RegionAccess::Listed(use_groups) => Some(use_groups),
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

    /// Returns the streams that an operation must wait for before it uses the region.
    pub(crate) fn waited_for(&self, writes: bool) -> Vec<usize> {
        let readers = self.readers.iter().copied().filter(|_| writes);
        std::iter::once(self.writer).chain(readers).collect()
    }

    /// Records that an operation uses the region. `nodes` contains the handles of the operation's
    /// last nodes.
    pub(crate) fn used(&mut self, stream: usize, writes: bool, operation: usize, nodes: &[u64]) {
        let on_stream = self.users.entry(stream).or_default();
        on_stream.operation = operation;
        on_stream.known.extend_from_slice(nodes);
        on_stream.end_at(nodes);
        if let RegionAccess::Listed(use_groups) = &mut self.access {
            list(use_groups, writes, nodes);
        }
        if writes {
            self.writer = stream;
            self.readers.clear();
        } else if !self.readers.contains(&stream) {
            self.readers.push(stream);
        }
    }

    /// Records that all uses of the region end with a stream's last nodes. The individual uses have
    /// not been recorded.
    pub(crate) fn ended(&mut self, stream: usize, operation: usize, nodes: &[u64]) {
        self.used(stream, true, operation, &[]);
        self.users.entry(stream).or_default().end_at(nodes);
        if let (RegionAccess::Listed(use_groups), false) = (&mut self.access, nodes.is_empty()) {
            use_groups.push(UseGroup { writes: true, uses: Vec::new(), until: nodes.to_vec() });
        }
    }
}

/// Records in `use_groups` that `nodes` use the region.
fn list(use_groups: &mut Vec<UseGroup>, writes: bool, nodes: &[u64]) {
    if nodes.is_empty() {
        return;
    }
    let new = || UseGroup { writes, uses: nodes.to_vec(), until: nodes.to_vec() };
    match (use_groups.last_mut(), writes) {
        // An operation that uses the region twice counts as a single use.
        (Some(last), _) if last.writes && last.uses == nodes => {}
        (Some(last), false) if !last.writes => {
            last.uses.extend_from_slice(nodes);
            last.until.extend_from_slice(nodes);
        }
        (Some(last), true) if !last.writes => {
            last.uses.retain(|node| !nodes.contains(node));
            last.until.retain(|node| !nodes.contains(node));
            if last.until.is_empty() {
                use_groups.pop();
            }
            use_groups.push(new());
        }
        _ => use_groups.push(new()),
    }
}

impl Uses {
    /// Records which nodes are the last to use the region. If the use added no nodes, this method
    /// changes nothing.
    fn end_at(&mut self, nodes: &[u64]) {
        if !nodes.is_empty() {
            self.until = nodes.to_vec();
        }
    }
}
