//! A backend that accesses host memory only through a command queue and defers all work until a
//! wait. The backend reveals mistakes in the use of a command queue without requiring a device. A
//! [`DeferredBlock`] is an opaque identifier, so only commands can access the block's memory.

mod backend;
mod flaw;
mod lane;
mod probe;
mod queue;
mod view;

pub use backend::{DeferredBackend, KeptShape};
pub use lane::DeferredBlock;
pub use probe::DeferredProbe;
pub use queue::Queue;
pub use view::{DeferredView, DeferredViewRef};

pub(crate) use flaw::ViewFlaw;
pub(crate) use lane::Command;
pub(crate) use view::{AnySlot, elements_bytes};
