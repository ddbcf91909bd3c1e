//! The driver, and nothing above it: its library, its calls with our errors, the values that own its resources, and
//! the queue of resources that could not be given back.
//!
//! The rule for a call that fails is in [`gone`]: a call that orders is never excused by its code.
//!
//! Exhausted host memory is an error like any other. Notes of blocks, streams and shapes are allocated by calls that can
//! fail ([`chain`]). A drop allocates nothing: it uses what was made with the resource, its place among the
//! [`leftovers`] or a spare link. Exceptions: allocations inside cudarc, and the counted pointers of devices, contexts of
//! pools and staging pools, which are the standard library's.

pub(crate) mod answer;
pub(crate) mod calls;
pub(crate) mod capture;
pub(crate) mod capture_mode;
pub(crate) mod captures_under_way;
pub(crate) mod chain;
pub(crate) mod code;
pub(crate) mod context;
pub(crate) mod default_stream;
mod entry_point;
pub(crate) mod error;
pub(crate) mod event;
pub(crate) mod gone;
pub(crate) mod guard_event;
mod leftover_kind;
pub(crate) mod leftovers;
pub(crate) mod library;
pub(crate) mod memory_pool;
pub mod versioned;
