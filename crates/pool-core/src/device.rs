//! The name of the device that has a pool's memory.

use core::fmt;

/// The device of a pool's memory: a kind, and an ordinal if there can be several of the kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Device {
    /// The kind of memory: `"cpu"`, `"cuda"`.
    pub kind: &'static str,
    /// The number of the device among its kind; `None` if there is only one.
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
