//! The validator. The validator accepts a plan, or reports a pair of buffers that must not share
//! bytes. The validator also computes the lower bound that follows from a certificate's witness.
//!
//! The validator shares no code with the solvers or with the computation of the lower bounds. The
//! validator checks the original problem and prefers simple algorithms to fast ones.

mod ends;
pub(crate) mod graph;
pub(crate) mod interval;
pub(crate) mod memories;
mod witness;
