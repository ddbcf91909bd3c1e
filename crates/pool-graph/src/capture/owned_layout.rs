//! The verifier's input for session-owned memory that graphs write to. Each group of uses becomes a
//! separate region in the layout. A group is either a single write or any number of reads. All
//! groups for the same memory have the same offset. The verifier then checks that each group of
//! uses ends before the next one begins, just as it checks temporaries that share bytes.

use super::body::Region;
use super::error::CaptureError;
use crate::base::range::LeasedRange;
use crate::base::request::GRANULE;
use crate::verify::RegionLayout;

/// All groups of owned-memory uses, represented as regions at offsets past the end of the arena.
pub(super) struct OwnedLayout {
    pub(super) layout: Vec<RegionLayout>,
    /// The first offset past the end of the arena.
    pub(super) begin: u64,
    /// Each range of owned memory and the offset that represents its first byte.
    places: Vec<(LeasedRange, u64)>,
}

impl OwnedLayout {
    /// Returns the layout of all owned regions that graphs write to, starting at offset `capacity`.
    /// The `number` closure returns a node's index.
    pub(super) fn new(regions: &[Region], capacity: u64, number: impl Fn(&u64) -> usize) -> Self {
        let begin = capacity.next_multiple_of(GRANULE);
        let (mut layout, mut places, mut offset) = (Vec::new(), Vec::new(), begin);
        let numbers = |nodes: &[u64]| nodes.iter().map(&number).collect::<Vec<_>>();
        for region in regions {
            let use_groups = region.use_groups().unwrap_or_default();
            if use_groups.is_empty() || region.bytes == 0 {
                continue;
            }
            let range = LeasedRange { address: region.address, bytes: region.bytes };
            places.push((range, offset));
            let mut after = Vec::new();
            for group in use_groups {
                let until = numbers(&group.until);
                layout.push(RegionLayout {
                    offset,
                    bytes: region.bytes,
                    uses: numbers(&group.uses),
                    after: std::mem::replace(&mut after, until.clone()),
                    until,
                });
            }
            offset = offset.saturating_add(region.bytes);
        }
        Self { layout, begin, places }
    }

    /// Returns the offset that represents an address in owned memory. Returns `None` if the address
    /// does not belong to owned memory that graphs write to.
    pub(super) fn offset_of(&self, address: u64) -> Option<u64> {
        let has = |range: &LeasedRange| range.contains(address, 1);
        let (range, offset) = self.places.iter().find(|(range, _)| has(range))?;
        Some(offset + (address - range.address))
    }

    /// Returns the error that reports unordered uses of the owned memory at `offset`.
    pub(super) fn refusal(&self, offset: u64) -> CaptureError {
        let before = self.places.iter().rev().find(|(_, begin)| *begin <= offset);
        let (address, bytes) = before.map_or((0, 0), |(range, _)| (range.address, range.bytes));
        CaptureError::UnorderedUses { address, bytes }
    }
}
