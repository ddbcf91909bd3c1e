//! What a driver knows of an address, and memory of the host under its addresses on a device.

/// What an address is asked for, and the value where its type is of 8 bytes or of 4.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fact {
    Wide(u64),
    Narrow(u32),
}
