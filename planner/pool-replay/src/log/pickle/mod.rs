//! A reader of pickles that builds data and does nothing else: opcodes that name or call anything are refused by
//! name, and nothing is ever executed.
//!
//! A pickle is read twice. The first pass notes which entries of the memo are ever fetched, and so which lists and
//! dictionaries may be reached from two places; those alone are kept in a table, by number. All others have one owner,
//! so that a circle cannot be built of them and their depth is known; and an event of a trace becomes one compact
//! record as soon as its dictionary is filled. Of dictionaries only the keys of [`Field`] are kept.
//!
//! Everything that is kept takes room in proportion to the file, and limits bound what a few bytes can ask for.

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
