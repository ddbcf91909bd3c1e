//! The arithmetic on pixels, which all ways share. Each function writes into storage that the
//! caller passes.

pub(crate) mod composite;
pub(crate) mod denoise;
pub(crate) mod edges;
pub(crate) mod flow;
pub(crate) mod pyramid;
