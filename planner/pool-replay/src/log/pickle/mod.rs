//! A pickle reader that only builds data. Opcodes that import or call anything are refused, and the
//! error names the opcode. Nothing is ever executed.
//!
//! A pickle is read several times. The first pass records which memo entries are ever fetched,
//! because several references may exist to the lists and dictionaries in these entries. Only lists
//! and dictionaries with several references are stored in a table, by number. All other lists and
//! dictionaries have a single owner, so they cannot form a cycle, and their depth is known. An
//! event of a trace is converted to a compact record as soon as its dictionary is filled. Of each
//! dictionary, only the keys in [`Field`] are stored.
//!
//! Later passes either store the entries of the traces or pass them on one by one. If the entries
//! are passed on, the memory depends on the number of different texts, frames and stacks, and not
//! on the number of entries. Limits bound the memory that a small file can demand.

mod data;
mod error;
mod machine;
mod number;
mod opcode;
mod scanner;
mod value;

pub(super) use data::Pickle;
pub use error::PickleError;
pub(super) use machine::Reader;
pub(super) use number::{Number, NumberError};
#[cfg(test)]
pub(super) use opcode::Opcode;
pub(super) use value::{Dict, Entry, Field, Value};
