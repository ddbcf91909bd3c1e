//! The CUDA driver calls that capture streams, read graphs, and manage graph handles. All other
//! driver calls are in `pool-driver`. The `gone` module in `pool-driver` defines when a failed
//! attempt to order work may be ignored. An error code by itself is never a sufficient reason to
//! ignore a failure.
//!
//! The safety proofs of this module rely on three facts:
//!
//! - **A stream is live** while the `Arc` or the `Origin` that owns it is borrowed. The stream's
//!   context is current on the calling thread because a session makes it current before the capture
//!   begins. None of the captured streams are default streams, because a session does not accept
//!   default streams. A captured stream's handle therefore identifies the same stream in every
//!   context.
//! - **Output variables outlive the call** that writes to them, because they are local variables.
//! - **Node and graph handles** come from the driver and are used only while the graph exists.

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
