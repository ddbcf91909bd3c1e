//! The arithmetic on pixels, which every way shares. Each function writes into storage that the caller brings.

pub(crate) mod composite;
pub(crate) mod denoise;
pub(crate) mod edges;
pub(crate) mod flow;
pub(crate) mod pyramid;
