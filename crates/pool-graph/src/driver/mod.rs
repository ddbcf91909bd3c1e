//! The CUDA driver's calls on graphs: captures of streams, handles of graphs, queries of a graph,
//! and refusals. All other calls are in `pool-driver`. Its module `gone` has the rule for a failing
//! call that orders: its code alone never excuses it.
//!
//! The proofs of this module rely on three facts:
//!
//! 1. **Streams live** while the `Arc`, or the `Origin` of a capture, that leads to them is
//!    borrowed. Their context is the thread's current one: the session binds it before it begins.
//!    None is a default stream, which cannot take part in a capture, so their handles mean the same
//!    in every context.
//! 2. **Places outlive the call** that uses them: they are locals.
//! 3. **Nodes and graphs** are handles from the driver; all their uses are within the life of the
//!    graph.

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
