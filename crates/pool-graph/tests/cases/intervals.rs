//! The naive model: every live byte range, in order.

use std::collections::BTreeMap;

/// Ranges that must not overlap.
#[derive(Debug, Default)]
pub(crate) struct Intervals(BTreeMap<u64, u64>);

impl Intervals {
    /// Adds a range.
    ///
    /// # Panics
    ///
    /// When it overlaps one that is there.
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
    /// When it is not there.
    pub(crate) fn remove(&mut self, address: u64, bytes: u64) {
        assert_eq!(self.0.remove(&address), Some(address + bytes), "{address:#x} is not live");
    }

    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    /// The ranges, as first and last address.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        self.0.iter().map(|(&address, &end)| (address, end))
    }
}
