//! Address ranges whose memory is kept alive by leases.

/// A range of addresses whose memory is kept alive by a lease.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct LeasedRange {
    /// The start address of the range.
    pub address: u64,
    /// The range's size in bytes.
    pub bytes: u64,
}

impl LeasedRange {
    /// Returns `true` if this range contains every byte of `[address, address + bytes)`.
    #[must_use]
    pub fn contains(&self, address: u64, bytes: u64) -> bool {
        let end = |offset: u64| offset.checked_add(bytes);
        address.checked_sub(self.address).and_then(end).is_some_and(|end| end <= self.bytes)
    }
}
