//! `pool-plan replay`: what happened in a log, by name, and what other allocators would have held.

mod books;
mod curve;
mod device;
mod fault;
mod planned;
mod report;
mod run;
mod table;

#[cfg(test)]
mod tests;

pub(crate) use books::{Books, Change, Live};
pub(crate) use fault::Fault;
pub(crate) use report::frames_of;
pub(crate) use run::{open, run};
