//! A kernel in WGSL: its name and its bindings.

/// A kernel in WGSL: an entry point of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WgslKernel {
    /// The text, which may have other entry points.
    pub source: &'static str,
    /// The name of the entry point.
    pub entry: &'static str,
    /// The accesses of the entry point to the bindings 0, 1, … of group 0.
    pub accesses: &'static [Access],
}

/// The access of a kernel to a storage binding.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// `var<storage, read>`.
    Read,
    /// `var<storage, read_write>`.
    ReadWrite,
}
