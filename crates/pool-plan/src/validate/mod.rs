//! The validator: accepts a plan, or names the pair of buffers that cannot share bytes. It also computes the bound that
//! the witness of a certificate proves.
//!
//! The validator shares no code with the solvers and the bounds, works from the problem as it was given, and
//! takes the plain way where they take the fast one.

mod ends;
pub(crate) mod graph;
pub(crate) mod interval;
mod witness;
