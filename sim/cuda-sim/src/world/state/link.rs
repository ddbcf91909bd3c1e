//! Linking: PTX of several modules becomes one image, which can be loaded.
//!
//! A driver's image is machine code; here it is the text of the modules, which nobody but this driver takes.

/// Modules that are being linked.
#[derive(Debug)]
pub(crate) struct Link {
    pub(crate) lives: bool,
    pub(in crate::world) texts: Vec<String>,
    /// With the zero at its end; it stays where it is until the link is destroyed.
    pub(in crate::world) image: Option<Vec<u8>>,
    pub(in crate::world) log: Log,
}

/// Where a caller wants to read what went wrong: addresses of the host.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Log {
    pub(crate) address: u64,
    pub(crate) bytes: usize,
    /// Where the length of the text goes.
    pub(crate) length: Option<u64>,
}

/// What is given to a link.
#[derive(Clone, Debug)]
pub(crate) enum Input {
    Text(String),
    /// What only machine code's linker understands, in words.
    Other(&'static str),
}
