//! State of links.
//!
//! The image of a real driver is machine code. Here it is the text of the modules, which only this
//! driver accepts.

/// Modules that are being linked.
#[derive(Debug)]
pub(crate) struct Link {
    pub(crate) lives: bool,
    pub(in crate::world) texts: Vec<String>,
    /// The image with its terminating zero. It stays in place until the link is destroyed.
    pub(in crate::world) image: Option<Vec<u8>>,
    pub(in crate::world) log: Log,
}

/// The caller's buffer for errors: addresses of the host.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Log {
    pub(crate) address: u64,
    pub(crate) bytes: usize,
    /// The address for the length of the text.
    pub(crate) length: Option<u64>,
}

/// An input of a link.
#[derive(Clone, Debug)]
pub(crate) enum Input {
    Text(String),
    /// Input that only a linker of machine code accepts, described in words.
    Other(&'static str),
}
