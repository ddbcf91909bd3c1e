//! The calls of the CUDA driver on graphs: captures of streams, handles of graphs, queries of a
//! graph, and refusals. All other calls are in `pool-driver`. Its module `gone` defines when the
//! failure of a call that orders work may be ignored. The error code of that call is never a
//! sufficient reason.
//!
//! The proofs of this module rely on three facts:
//!
//! 1. **Streams live** while the `Arc`, or the `Origin` of a capture, that owns them is borrowed.
//!    Their context is the current context of the thread, because the session binds it before it
//!    begins. None of them is a default stream, which cannot take part in a capture. Their handles
//!    therefore mean the same in every context.
//! 2. **Output variables outlive the call** that writes to them, because they are locals.
//! 3. **Nodes and graphs** are handles from the driver, which are used only while the graph lives.

mod contents;
mod forks;
mod graph_reading;
mod handles;
mod kept_values;
mod node_memory;
mod refusal;
mod stream_capture;

pub(crate) use contents::Contents;
pub(crate) use forks::forks;
pub(crate) use handles::{Executable, Graph};
pub(crate) use kept_values::KeptValues;
pub use node_memory::UnreadableReason;
pub use refusal::{NodeKind, UpdateReason, UpdateRefusal};
pub use stream_capture::CaptureMode;
pub(crate) use stream_capture::{CaptureObserver, StreamCapture, StreamPosition};
