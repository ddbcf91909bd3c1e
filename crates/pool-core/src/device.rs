//! The name of the device that provides a pool's memory.

use core::fmt;

/// The device of a pool's memory: a kind, and a number if a system can have several such devices.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Device {
    /// The kind of memory: `"cpu"`, `"cuda"`.
    pub kind: &'static str,
    /// The number of the device among devices of its kind. `None` if there is only one.
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
