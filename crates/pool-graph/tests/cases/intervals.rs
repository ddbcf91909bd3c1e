//! The naive model: every live byte range, in order.

use std::collections::BTreeMap;

/// Ranges that must not overlap.
#[derive(Debug, Default)]
pub(crate) struct Intervals(BTreeMap<u64, u64>);

/// The range between live ranges, from the end of one, rounded up to 256, to the next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Gap {
    pub(crate) address: u64,
    pub(crate) bytes: u64,
    /// The index of the piece that contains it.
    pub(crate) piece: usize,
}

impl Gap {
    /// Returns `true` if a block fits.
    pub(crate) fn fits(&self, size: u64, alignment: u64) -> bool {
        let begin = self.address.next_multiple_of(alignment.max(256));
        begin + size.next_multiple_of(256) <= self.address + self.bytes
    }
}

impl Intervals {
    /// Adds a range.
    ///
    /// # Panics
    ///
    /// Panics if it overlaps an existing range.
    pub(crate) fn insert(&mut self, address: u64, bytes: u64) {
        let end = address.checked_add(bytes).expect("a range ends where an address can be");
        if let Some((&other, &other_end)) = self.0.range(..end).next_back() {
            assert!(
                other_end <= address,
                "[{address:#x}, {end:#x}) overlaps [{other:#x}, {other_end:#x})"
            );
        }
        self.0.insert(address, end);
    }

    /// Removes a range.
    ///
    /// # Panics
    ///
    /// Panics if it does not exist.
    pub(crate) fn remove(&mut self, address: u64, bytes: u64) {
        assert_eq!(self.0.remove(&address), Some(address + bytes), "{address:#x} is not live");
    }

    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    /// Returns the gaps of pieces, given as address and bytes, by a search of all ranges.
    pub(crate) fn gaps(&self, pieces: &[(u64, u64)]) -> Vec<Gap> {
        let mut gaps = Vec::new();
        for (piece, &(mut address, bytes)) in pieces.iter().enumerate() {
            let end = address + bytes;
            let inside: Vec<_> =
                self.iter().filter(|(start, _)| (address..end).contains(start)).collect();
            for (start, stop) in inside.into_iter().chain([(end, end)]) {
                if start > address {
                    gaps.push(Gap { address, bytes: start - address, piece });
                }
                address = stop.next_multiple_of(256);
            }
        }
        gaps
    }

    /// Returns the ranges, as first and last address.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        self.0.iter().map(|(&address, &end)| (address, end))
    }
}
