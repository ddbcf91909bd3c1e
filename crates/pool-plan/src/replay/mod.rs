//! The log of an allocator, replayed: what was live, what the allocator held, what others would have held for the same
//! requests, and how few bytes could do. Behind the feature `replay`.
//!
//! ```
//! use pool_plan::replay::{Allocator, Outcome, Replay};
//! use std::io::Cursor;
//!
//! let log = r#"{"action":"alloc","address":0,"bytes":512}
//! {"action":"alloc","address":512,"bytes":512}
//! {"action":"free","address":0}
//! {"action":"alloc","address":1024,"bytes":512}"#;
//! let report = Replay::default().read("two at once", &mut Cursor::new(log))?;
//! assert_eq!(report.outcome(), Outcome::Fits);
//! let device = &report.devices[0];
//! assert_eq!((device.peak_live, device.bound), (1024, Some(1024)));
//! let held = |allocator| device.allocators.iter().find(|one| one.allocator == allocator)?.held;
//! assert_eq!(held(Allocator::Bump), Some(1536));
//! assert_eq!(held(Allocator::Planned), Some(1024));
//! # Ok::<(), pool_plan::replay::LogError>(())
//! ```

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

pub use crate::log::{Format, LogError, PickleError};
pub use crate::policy::Allocator;
pub use outcome::Outcome;
pub use report::{
    AllocatorReport, At, BufferReport, CurveReport, DeviceReport, EventReport, FaultReport,
    LiveReport, Report,
};
pub use session::Replay;

#[cfg(feature = "cli")]
pub(crate) use books::{Books, Change, Live};
#[cfg(feature = "cli")]
pub(crate) use fault::Fault;
#[cfg(feature = "cli")]
pub(crate) use report::{frames_of, ratio};
