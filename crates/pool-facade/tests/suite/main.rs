//! The integration tests of the facade: the macros, the pools of a thread, and steady state without an
//! allocation.
