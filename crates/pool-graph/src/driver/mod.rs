//! What speaks to the CUDA driver: captures of streams, the handles of graphs, what the driver says of a graph, and
//! its refusals.

mod calls;
mod contents;
mod forks;
mod graph_reading;
mod handles;
mod host_buffer;
mod node_memory;
mod order_event;
mod refusal;
mod stream_capture;

pub(crate) use calls::{answer, bind, copy, copy_from_host, set_bytes, wait_for};
pub(crate) use contents::Contents;
pub(crate) use forks::forks;
pub(crate) use handles::{Executable, Graph};
pub(crate) use host_buffer::{HostBuffer, HostPlace, read, write};
pub use node_memory::UnreadableReason;
pub(crate) use order_event::OrderEvent;
pub use refusal::{NodeKind, UpdateReason, UpdateRefusal};
pub use stream_capture::CaptureMode;
pub(crate) use stream_capture::{CaptureObserver, StreamCapture, StreamPosition};
