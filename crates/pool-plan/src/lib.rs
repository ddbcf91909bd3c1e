//! An offline memory planner. The planner places buffers with known lifetimes in as few bytes as
//! possible. Each plan contains a certificate that states a lower bound.
//!
//! The crate solves three kinds of problems. In an [`IntervalProblem`], each buffer is live from
//! one time to another, as if all buffers were used on a single stream. In a
//! [`HappensBeforeProblem`], an acyclic graph's operations use the buffers on one or more streams.
//! Two buffers may share bytes only if every use of one comes before the other is allocated. The
//! solution to an interval or happens-before problem is a [`Plan`]. A plan contains an offset for
//! each buffer, the peak, an exact lower bound, and the buffers that prove the bound.
//!
//! In a [`MemoryProblem`], buffers with known lifetimes are distributed over several memories, each
//! with a capacity and a cost. The solution to a memory problem is a [`MemoryPlan`], which contains
//! the prices per byte that prove its lower bound.
//!
//! ```
//! use pool_plan::{Buffer, IntervalProblem, Options};
//!
//! let problem = IntervalProblem::new(vec![
//!     Buffer::new("a", 2, 6, 8),
//!     Buffer::new("b", 3, 8, 8),
//!     Buffer::new("c", 3, 10, 8),
//!     Buffer::new("d", 6, 12, 10),
//! ])?;
//! let plan = problem.solve(&Options::default())?;
//! assert_eq!((plan.certificate.peak, plan.certificate.bound), (26, 26));
//! // The validator shares no code with the solver.
//! assert_eq!(problem.validate(&plan.offsets), Ok(26));
//! # Ok::<(), pool_plan::PlanError>(())
//! ```
//!
//! `docs/planner.md` in the repository describes the algorithms and their sources, and compares
//! their results with those of other planners.
//!
//! No features are enabled by default, so the only default dependency is `thiserror`. The
//! `pool-plan-cli` crate provides the `pool-plan` command. The `pool-replay` crate reads CSV files
//! and allocator logs.
//!
//! # Features
//!
//! | feature | gives | costs |
//! |---|---|---|
//! | `serde` | problems, options and plans can be serialized | serde |
//! | `record` | `GraphRecord`: reads and writes files with a graph problem, its plan, streams and callers; enables `serde` | serde_json |

#![cfg_attr(docsrs, feature(doc_cfg))]
#![forbid(unsafe_code)]

// Layering: each module may import only the modules that are listed after its name. `cargo xtask
// imports` checks this list, and `cargo xtask imports --list` prints it.
//
// adjacency, graph, heuristic, item, random, tasks, violation: nothing
// error: violation
// operations: adjacency, graph
// plan: heuristic
// transposed: tasks
// bits: transposed
// limits: error
// buffer: error, limits
// markers: error, graph, limits, operations
// options: error, plan
// work: options
// sorting: work
// lists: error, limits
// memory: buffer, limits
// validate: buffer, graph, memory, violation
// happens_before: error, graph, limits, markers, operations, validate, violation
// interval: buffer, error, limits, validate, violation
// order: adjacency, bits, graph, happens_before, operations, tasks
// record: error, graph, happens_before, lists
// timeline: adjacency, interval, item, sorting, work
// overlaps: adjacency, timeline
// bundles: adjacency, item, timeline, work
// bound: bits, graph, happens_before, interval, item, order, timeline
// greedy: adjacency, bits, heuristic, item, overlaps, sorting, timeline, work
// search: adjacency, bits, item, overlaps, plan, random, timeline, work
// portfolio: adjacency, bound, error, greedy, heuristic, item, options, overlaps, plan, random, search, tasks, work
// memories: buffer, error, interval, limits, lists, memory, options, plan, random, validate, violation, work
// solve: adjacency, bits, bound, bundles, error, graph, greedy, happens_before, interval, item, operations, options,
//     order, overlaps, plan, portfolio, search, sorting, timeline, violation, work

mod adjacency;
mod bits;
mod bound;
mod buffer;
mod bundles;
mod error;
mod graph;
mod greedy;
mod happens_before;
mod heuristic;
mod interval;
mod item;
mod limits;
#[cfg(feature = "serde")]
mod lists;
mod markers;
mod memories;
mod memory;
mod operations;
mod options;
mod order;
mod overlaps;
mod plan;
mod portfolio;
mod random;
#[cfg(feature = "record")]
mod record;
mod search;
mod solve;
mod sorting;
mod tasks;
mod timeline;
mod transposed;
mod validate;
mod violation;
mod work;

pub use bound::Bound;
pub use buffer::{Buffer, Gap};
pub use error::{PlanError, error_chain};
pub use graph::{Edge, EdgeKind, GraphBuffer, Role};
pub use happens_before::HappensBeforeProblem;
pub use heuristic::{GreedyFit, GreedyHeuristic, GreedyOrder};
pub use interval::IntervalProblem;
pub use memories::{MemoryCertificate, MemoryPlan, MemoryProblem};
pub use memory::{Memory, MemoryBuffer, Placement, Price};
pub use options::{Monitor, Options};
pub use plan::{Certificate, Plan, Proof, StopReason};
#[cfg(feature = "record")]
pub use record::{Caller, GraphRecord};
pub use violation::Violation;

/// Compiles the code examples in the crate's README.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct CrateReadme;
