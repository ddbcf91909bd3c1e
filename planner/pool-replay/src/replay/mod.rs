//! Replays a log. The replay tracks the live buffers, runs the simulated allocators, plans the
//! buffers, and builds the report.

mod books;
mod curve;
mod device;
mod fault;
mod outcome;
mod planned;
mod report;
mod session;

#[cfg(test)]
mod tests;

pub use outcome::Outcome;
pub use report::{
    AllocatorReport, At, BufferReport, CurveReport, DeviceReport, EventReport, FaultReport,
    HeldInPart, LiveReport, PoolReport, Report,
};
pub use session::Replay;

pub(crate) use books::{Books, Change, Live};
pub(crate) use fault::Fault;
pub(crate) use report::frame_text;
#[cfg(test)]
pub(crate) use report::frames_of;
