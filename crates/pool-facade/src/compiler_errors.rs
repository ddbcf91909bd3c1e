//! Compiler errors that pools can cause, and how to fix them.
//!
#![cfg_attr(feature = "cpu", doc = include_str!("compiler_errors.md"))]
#![cfg_attr(
    not(feature = "cpu"),
    doc = "The page is made with the feature `cpu`, which its examples need."
)]
