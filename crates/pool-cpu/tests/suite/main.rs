//! The integration tests of host memory: what every backend passes, `ndarray` views, and steady state
//! without an allocation.
