//! Defines the identifier of the device that provides a pool's memory.

use core::fmt;

/// The device that provides a pool's memory. A device is identified by its kind and, if a system
/// can contain several devices of this kind, by its index.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Device {
    /// The kind of memory, such as `"cpu"` or `"cuda"`.
    pub kind: &'static str,
    /// The device's index among all devices of its kind. The index is `None` if a system can
    /// contain only one device of this kind.
    pub ordinal: Option<u32>,
}

impl fmt::Display for Device {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.ordinal {
            Some(ordinal) => write!(f, "{}:{ordinal}", self.kind),
            None => f.write_str(self.kind),
        }
    }
}
