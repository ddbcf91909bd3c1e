//! What speaks to the driver, and knows nobody above it.

pub(crate) mod calls;
pub(crate) mod capture;
pub(crate) mod chain;
pub(crate) mod code;
pub(crate) mod error;
pub(crate) mod event;
pub(crate) mod leftovers;
pub(crate) mod library;
pub(crate) mod memory_pool;
pub mod versioned;
