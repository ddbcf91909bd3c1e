//! The facade's tests of its macros, compiled as edition 2021, which a user may have. Cargo has no other way to give
//! one test program of a crate another edition.

#[cfg(test)]
#[path = "../../../crates/pool-facade/tests/suite/macro_forms/mod.rs"]
mod macro_forms;
