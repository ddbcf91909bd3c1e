//! What speaks to the driver, and knows nobody above it: its library, its calls with our errors, the values that own
//! its resources, and the queue of what could not be given back.

pub(crate) mod answer;
pub(crate) mod calls;
pub(crate) mod capture;
pub(crate) mod capture_mode;
pub(crate) mod chain;
pub(crate) mod code;
pub(crate) mod context;
pub(crate) mod default_stream;
mod entry_point;
pub(crate) mod error;
pub(crate) mod event;
pub(crate) mod leftovers;
pub(crate) mod library;
pub(crate) mod memory_pool;
pub mod versioned;
