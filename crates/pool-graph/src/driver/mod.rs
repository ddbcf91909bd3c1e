//! The CUDA driver's calls on graphs: captures of streams, handles of graphs, reading a graph back, and its refusals. All
//! other calls are in `pool-driver`, whose module `gone` has the rule for a call that orders and fails: it is never excused
//! by its code.
//!
//! What the proofs of this module rely on:
//!
//! 1. **Streams live** while the `Arc`, or the `Origin` of a capture, that they are asked through is borrowed, and
//!    their context is the thread's current one: the session binds it before it begins. None is a default stream,
//!    which cannot take part in a capture, so their handles mean the same in every context.
//! 2. **Places outlive the call** that they are given to: they are locals.
//! 3. **Nodes and graphs** are handles that the driver gave; what is done with them stays within the
//!    life of the graph.

mod contents;
mod forks;
mod graph_reading;
mod handles;
mod node_memory;
mod refusal;
mod stream_capture;

pub(crate) use contents::Contents;
pub(crate) use forks::forks;
pub(crate) use handles::{Executable, Graph};
pub use node_memory::UnreadableReason;
pub use refusal::{NodeKind, UpdateReason, UpdateRefusal};
pub use stream_capture::CaptureMode;
pub(crate) use stream_capture::{CaptureObserver, StreamCapture, StreamPosition};
