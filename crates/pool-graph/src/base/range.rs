//! A range of addresses.

/// A range of addresses that a lease holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct LeasedRange {
    /// Where it begins.
    pub address: u64,
    /// How many bytes the range has.
    pub bytes: u64,
}

impl LeasedRange {
    /// Whether all of `[address, address + bytes)` is in the range.
    #[must_use]
    pub fn contains(&self, address: u64, bytes: u64) -> bool {
        let end = |offset: u64| offset.checked_add(bytes);
        address.checked_sub(self.address).and_then(end).is_some_and(|end| end <= self.bytes)
    }
}
