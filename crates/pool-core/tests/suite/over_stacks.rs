//! Test modules of slots, compiled a second time over stacks: one source for both layouts.

#![allow(clippy::duplicate_mod, reason = "each module is of another backend")]

use pool_conformance::HeapBackend;
use pool_core::Stacked;

/// The backend of the modules.
type Heap = Stacked<HeapBackend>;

#[cfg(feature = "allocator-api2")]
#[path = "allocator.rs"]
mod allocator;
#[path = "boxes.rs"]
mod boxes;
#[path = "keep.rs"]
mod keep;
#[path = "overflow.rs"]
mod overflow;
#[path = "poison.rs"]
mod poison;
#[path = "shape_programs.rs"]
mod shape_programs;
#[path = "uninit.rs"]
mod uninit;
#[path = "user_code.rs"]
mod user_code;
#[path = "vectors.rs"]
mod vectors;
#[path = "wide_elements.rs"]
mod wide_elements;
