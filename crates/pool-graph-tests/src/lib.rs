//! Nothing but tests: see `tests/device`.
