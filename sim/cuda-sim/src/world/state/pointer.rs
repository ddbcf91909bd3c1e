//! Types of attributes of addresses.

/// The value of an address's attribute, of 8 bytes or of 4.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fact {
    Wide(u64),
    Narrow(u32),
}
