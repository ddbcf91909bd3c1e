//! The validator: accepts a plan, or names the pair of buffers that cannot share bytes. It also computes the bound that
//! the witness of a certificate proves.
//!
//! The validator shares no code with the solvers and the bounds. It works on the problem as given,
//! with simple algorithms instead of fast ones.

mod ends;
pub(crate) mod graph;
pub(crate) mod interval;
pub(crate) mod memories;
mod witness;
