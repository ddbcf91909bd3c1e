//! What a kernel in WGSL is called, and what it binds.

/// A kernel in WGSL: an entry point of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WgslKernel {
    /// The text, which may have other entry points.
    pub source: &'static str,
    /// The name of the entry point.
    pub entry: &'static str,
    /// What the entry point does with the bindings 0, 1, … of group 0.
    pub accesses: &'static [Access],
}

/// What a kernel does with a binding of storage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// `var<storage, read>`.
    Read,
    /// `var<storage, read_write>`.
    ReadWrite,
}
