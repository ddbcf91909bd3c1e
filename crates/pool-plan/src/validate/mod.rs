//! The validator: accepts a plan, or names the pair of buffers that cannot share bytes.
//!
//! The validator shares no code with the solvers and the bounds, works from the problem as it was given, and
//! takes the plain way where they take the fast one.

mod ends;
pub(crate) mod graph;
pub(crate) mod interval;
pub(crate) mod memories;
