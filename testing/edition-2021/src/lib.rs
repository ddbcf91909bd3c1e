//! The facade's tests of its macros, compiled in edition 2021, which users may have. Cargo cannot
//! set another edition for one test program of a crate.

#[cfg(test)]
#[path = "../../../crates/pool-facade/tests/suite/macro_forms/mod.rs"]
mod macro_forms;
