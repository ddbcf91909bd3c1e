//! The integration tests of the state machine: named cases, random programs against a naive model,
//! and sweeps that fail the n-th allocation.
