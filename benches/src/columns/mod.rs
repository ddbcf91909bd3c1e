//! The columns: the pool, and its alternatives.

pub mod arenas;
pub mod heap;
pub mod kept;
pub mod opool;
pub mod ours;
pub mod published;
pub mod stack;
