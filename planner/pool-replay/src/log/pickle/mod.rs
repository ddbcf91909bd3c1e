//! A reader of pickles that builds data and does nothing else. Opcodes that name or call anything
//! are refused by name, and nothing is ever executed.
//!
//! A pickle is read twice. The first pass records the entries of the memo that are ever fetched,
//! and so the lists and dictionaries that may have several references. Only those are kept in a
//! table, by number. All others have one owner, so they cannot form a cycle, and their depth is
//! known. An event of a trace becomes one compact record as soon as its dictionary is filled. Of
//! dictionaries only the keys of [`Field`] are kept.
//!
//! The kept data take memory in proportion to the file, and limits bound the memory that a few
//! bytes can demand.

mod data;
mod error;
mod machine;
mod number;
mod opcode;
mod scanner;
mod value;

pub(super) use data::Pickle;
pub use error::PickleError;
pub(super) use machine::read;
pub(super) use number::{Number, NumberError};
#[cfg(test)]
pub(super) use opcode::Opcode;
pub(super) use value::{Dict, Entry, Field, Value};
