//! The contents of a pickle. They consist of its root, and of the lists and dictionaries to which
//! several references exist.

use std::collections::HashMap;

use super::super::frames::{Frame, Frames, Stack};
use super::number::{Number, NumberError};
use super::value::{Dict, Entry, Field, Value};

/// The contents of a pickle.
#[derive(Debug, Default)]
pub(crate) struct Pickle {
    pub(crate) root: Value,
    /// Lists and dictionaries to which several references exist.
    pub(super) shared: Vec<Value>,
    /// The stacks of shared lists of frames.
    stacks: HashMap<u32, Stack>,
}

impl Pickle {
    /// Returns the items of a list, or `None` for other values. A list of trace entries is also
    /// treated as another value.
    pub(crate) fn list<'a>(&'a self, value: &'a Value) -> Option<&'a [Value]> {
        match self.resolve(value) {
            Value::List(list) if list.entries.is_empty() && list.trace.is_none() => {
                Some(&list.items)
            }
            _ => None,
        }
    }

    /// Returns the entries of a trace. Each item that is not an entry yields `None`. If the value
    /// is not a list, the whole result is `None`.
    pub(crate) fn trace<'a>(
        &'a self,
        value: &'a Value,
    ) -> Option<impl Iterator<Item = Option<&'a Entry>>> {
        let Value::List(list) = self.resolve(value) else { return None };
        let items = list.items.iter().map(|item| self.entry(item));
        Some(list.entries.iter().map(Some).chain(items))
    }

    /// Returns the number of a trace whose entries were passed on. Returns `None` for an empty list,
    /// and `Some(None)` for every other value.
    pub(crate) fn passed_on(&self, value: &Value) -> Option<Option<u32>> {
        let Value::List(list) = self.resolve(value) else { return Some(None) };
        let is_empty = list.items.is_empty() && list.entries.is_empty() && list.trace.is_none();
        if is_empty { None } else { Some(list.trace) }
    }

    /// Returns a dictionary without an action, or `None` for other values.
    pub(crate) fn dict<'a>(&'a self, value: &'a Value) -> Option<&'a Dict> {
        match self.resolve(value) {
            Value::Dict(dict) => Some(dict),
            _ => None,
        }
    }

    /// Returns an entry of a trace, or `None` for other values.
    fn entry<'a>(&'a self, value: &'a Value) -> Option<&'a Entry> {
        match self.resolve(value) {
            Value::Entry(entry) => Some(entry),
            _ => None,
        }
    }

    /// Returns the stack that a list of frames represents, or the empty stack if the value is not a
    /// list of frames.
    ///
    /// # Errors
    /// Fails if the line number of a frame does not fit in 63 bits.
    pub(crate) fn stack(&self, value: &Value, frames: &mut Frames) -> Result<Stack, NumberError> {
        Ok(stack_of(value, &self.shared, &self.stacks, frames)?.unwrap_or_default())
    }

    /// Returns the stack that a list of frames represents, in the same way as `stack`. If the list
    /// is shared, the stack is remembered, because a trace refers to few stacks many times.
    pub(super) fn keep_stack(
        &mut self,
        value: &Value,
        frames: &mut Frames,
    ) -> Result<Stack, NumberError> {
        let stack = self.stack(value, frames)?;
        if let Value::Shared(number) = value {
            self.stacks.insert(*number, stack);
        }
        Ok(stack)
    }

    fn resolve<'a>(&'a self, value: &'a Value) -> &'a Value {
        resolve(value, &self.shared)
    }
}

/// Returns the value itself, or the shared value that its number refers to. A value in the table is
/// never itself a number.
fn resolve<'a>(value: &'a Value, shared: &'a [Value]) -> &'a Value {
    match value {
        Value::Shared(number) => {
            usize::try_from(*number).ok().and_then(|at| shared.get(at)).unwrap_or(value)
        }
        _ => value,
    }
}

/// Returns the stack that a list of frames represents, or `None` if the value is not a list of
/// frames.
fn stack_of(
    value: &Value,
    shared: &[Value],
    stacks: &HashMap<u32, Stack>,
    frames: &mut Frames,
) -> Result<Option<Stack>, NumberError> {
    if let Value::Shared(number) = value {
        if let Some(&stack) = stacks.get(number) {
            return Ok(Some(stack));
        }
    }
    let Value::List(list) = resolve(value, shared) else { return Ok(None) };
    let mut stack = Vec::with_capacity(list.items.len());
    for item in &list.items {
        let Value::Dict(frame) = resolve(item, shared) else { return Ok(None) };
        let (Some(&Value::Text(filename)), Some(&Value::Text(name))) =
            (frame.get(Field::Filename), frame.get(Field::Name))
        else {
            return Ok(None);
        };
        let line = match frame.number(Field::Line) {
            // A frame of compiled code may have no line number.
            Number::Missing | Number::NotInteger => 0,
            number => number.signed()?,
        };
        stack.push(Frame { filename, line, name });
    }
    Ok(Some(frames.stack(&stack)))
}
