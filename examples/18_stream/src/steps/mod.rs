//! The arithmetic on pixels, which all versions share. Each function writes to storage that the
//! caller passes.

pub(crate) mod composite;
pub(crate) mod denoise;
pub(crate) mod edges;
pub(crate) mod flow;
pub(crate) mod pyramid;
