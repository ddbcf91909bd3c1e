//! Compiles the facade's tests of its macros as edition 2021, which a user may have. There is nothing
//! else in this package.

#[cfg(test)]
#[path = "../../pool-facade/tests/suite/macro_forms/mod.rs"]
mod macro_forms;
