//! What a pickle holds: its root, and the lists and dictionaries that may be reached from two places.

use std::collections::HashMap;

use super::super::frames::{Frame, Frames, Stack};
use super::number::{Number, NumberError};
use super::value::{Dict, Entry, Field, Value};

/// What a pickle holds.
#[derive(Debug, Default)]
pub(crate) struct Pickle {
    pub(crate) root: Value,
    /// Lists and dictionaries that may be reached from two places.
    pub(super) shared: Vec<Value>,
    /// The stacks of lists of frames that are shared.
    stacks: HashMap<u32, Stack>,
}

impl Pickle {
    /// The items of a list, or nothing. A list of entries is none.
    pub(crate) fn list<'a>(&'a self, value: &'a Value) -> Option<&'a [Value]> {
        match self.resolve(value) {
            Value::List(list) if list.entries.is_empty() => Some(&list.items),
            _ => None,
        }
    }

    /// The entries of a trace, nothing for an item that is none; or nothing for what is no list.
    pub(crate) fn trace<'a>(
        &'a self,
        value: &'a Value,
    ) -> Option<impl Iterator<Item = Option<&'a Entry>>> {
        let Value::List(list) = self.resolve(value) else { return None };
        let items = list.items.iter().map(|item| self.entry(item));
        Some(list.entries.iter().map(Some).chain(items))
    }

    /// A dictionary without an action, or nothing.
    pub(crate) fn dict<'a>(&'a self, value: &'a Value) -> Option<&'a Dict> {
        match self.resolve(value) {
            Value::Dict(dict) => Some(dict),
            _ => None,
        }
    }

    /// An entry of a trace, or nothing.
    fn entry<'a>(&'a self, value: &'a Value) -> Option<&'a Entry> {
        match self.resolve(value) {
            Value::Entry(entry) => Some(entry),
            _ => None,
        }
    }

    /// The stack that a list of frames is; the one without frames if it is no such list.
    ///
    /// # Errors
    /// If the line of a frame is an integer of more than 63 bits.
    pub(crate) fn stack(&self, value: &Value, frames: &mut Frames) -> Result<Stack, NumberError> {
        Ok(stack_of(value, &self.shared, &self.stacks, frames)?.unwrap_or_default())
    }

    /// The same of a list that may be shared, whose stack is kept then: a trace names few stacks, many times.
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

/// A value itself, or what its number stands for. The table never holds numbers alone.
fn resolve<'a>(value: &'a Value, shared: &'a [Value]) -> &'a Value {
    match value {
        Value::Shared(number) => {
            usize::try_from(*number).ok().and_then(|at| shared.get(at)).unwrap_or(value)
        }
        _ => value,
    }
}

/// The stack that a list of frames is; none if it is no such list.
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
            // A frame of compiled code may have no line.
            Number::Missing | Number::NotInteger => 0,
            number => number.signed()?,
        };
        stack.push(Frame { filename, line, name });
    }
    Ok(Some(frames.stack(&stack)))
}
