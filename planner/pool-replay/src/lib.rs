//! Replays the logs of memory allocators. A report shows the live memory, the memory that the
//! allocator held, the memory that other allocators would have held for the same requests, and the
//! lower bound.
//!
//! The supported logs are RMM's CSV and debug log, PyTorch's memory snapshots, the output of
//! `CuPy`'s hook, `MiniMalloc`'s CSV, the plans of `TFLite` Micro and XLA, JSON lines, and the
//! records of captured CUDA graphs. [`Replay`] reads a log and returns a [`Report`]. [`export`]
//! writes a log in a form for viewers. [`csv`] reads and writes files of buffers for the planner,
//! `pool-plan`.
//!
//! ```
//! use pool_replay::{Allocator, Outcome, Replay};
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
//! # Ok::<(), pool_replay::LogError>(())
//! ```
//!
//! The `pool-plan` command (crate `pool-plan-cli`) prints the same reports for people.
//! `docs/replay.md` in the repository describes the formats and the rules of the simulated
//! allocators.
//!
//! # Features
//!
//! | feature | gives | costs |
//! |---|---|---|
//! | `clap` | [`Format`] and [`Allocator`] can be parsed from command lines (`clap::ValueEnum`) | clap |
//! | `export` (default) | the module [`export`] | nothing |

#![cfg_attr(docsrs, feature(doc_cfg))]
#![forbid(unsafe_code)]
// Some items of `log` and `replay` are used only by `export`.
#![cfg_attr(not(feature = "export"), allow(dead_code, unused_imports))]

// Layering: each module may import only the modules that are listed after its colon.
// `cargo xtask imports` checks this list, and `cargo xtask imports --list` prints it.
//
// csv, policy: nothing
// log: csv
// replay: log, policy
// export: log, replay

pub mod csv;
#[cfg(feature = "export")]
pub mod export;
mod log;
mod policy;
mod replay;

pub use log::{Format, LogError, PickleError, Selection, Source};
pub use policy::Allocator;
pub use replay::{
    AllocatorReport, At, BufferReport, CurveReport, DeviceReport, EventReport, FaultReport,
    HeldInPart, LiveReport, Outcome, PoolReport, Replay, Report,
};

/// Compiles the code examples of the crate's README.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct CrateReadme;
