//! The columns: ours, and what people would pick instead.

pub mod arenas;
pub mod heap;
pub mod kept;
pub mod opool;
pub mod ours;
pub mod published;
pub mod stack;
