//! State of links.
//!
//! The image of a real driver is machine code. The simulator's image is the text of the modules,
//! which only the simulator accepts.

/// Modules that are being linked.
#[derive(Debug)]
pub(crate) struct Link {
    pub(crate) lives: bool,
    pub(in crate::world) texts: Vec<String>,
    /// The image, terminated by a zero byte. It does not move until the link is destroyed.
    pub(in crate::world) image: Option<Vec<u8>>,
    pub(in crate::world) log: Log,
}

/// The caller's buffer for errors, given by host addresses.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Log {
    pub(crate) address: u64,
    pub(crate) bytes: usize,
    /// The address to which the length of the text is written.
    pub(crate) length: Option<u64>,
}

/// An input of a link.
#[derive(Clone, Debug)]
pub(crate) enum Input {
    Text(String),
    /// Input that only a linker for machine code accepts, described by its name.
    Other(&'static str),
}
