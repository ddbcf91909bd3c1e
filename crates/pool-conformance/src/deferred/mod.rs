//! A backend with host memory behind a command queue, whose work runs later. The backend reveals
//! mistakes in the use of a command queue, and needs no device for this. The blocks of the backend
//! are opaque, because a [`DeferredBlock`] is only an identifier and only commands access the
//! memory.

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
