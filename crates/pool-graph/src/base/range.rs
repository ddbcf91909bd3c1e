//! A range of addresses.

/// A range of addresses that a lease holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct LeasedRange {
    /// The address at which the range starts.
    pub address: u64,
    /// The number of bytes.
    pub bytes: u64,
}

impl LeasedRange {
    /// Returns `true` if all of `[address, address + bytes)` is in the range.
    #[must_use]
    pub fn contains(&self, address: u64, bytes: u64) -> bool {
        let end = |offset: u64| offset.checked_add(bytes);
        address.checked_sub(self.address).and_then(end).is_some_and(|end| end <= self.bytes)
    }
}
