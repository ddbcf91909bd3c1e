//! The columns: ours, and their alternatives.

pub mod arenas;
pub mod heap;
pub mod kept;
pub mod opool;
pub mod ours;
pub mod published;
pub mod stack;
