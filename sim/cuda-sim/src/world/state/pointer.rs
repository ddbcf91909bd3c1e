//! Types of attributes of addresses.

/// The value of a pointer attribute, with 8 or 4 bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fact {
    Wide(u64),
    Narrow(u32),
}
