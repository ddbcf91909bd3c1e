//! The values that a pickle builds, limited to those that a snapshot needs.

use super::super::frames::{Frames, Stack, Text};
use super::number::Number;

/// A key in a snapshot whose value is stored. The texts of these keys are the first texts in a
/// [`Frames`], in the order of this enum.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[repr(u32)]
pub(crate) enum Field {
    Segments,
    DeviceTraces,
    Action,
    Addr,
    Size,
    Stream,
    TimeUs,
    Frames,
    Device,
    Address,
    TotalSize,
    Blocks,
    State,
    RequestedSize,
    Filename,
    Line,
    Name,
    SegmentPoolId,
}

const FIELDS: [(Field, &str); 18] = [
    (Field::Segments, "segments"),
    (Field::DeviceTraces, "device_traces"),
    (Field::Action, "action"),
    (Field::Addr, "addr"),
    (Field::Size, "size"),
    (Field::Stream, "stream"),
    (Field::TimeUs, "time_us"),
    (Field::Frames, "frames"),
    (Field::Device, "device"),
    (Field::Address, "address"),
    (Field::TotalSize, "total_size"),
    (Field::Blocks, "blocks"),
    (Field::State, "state"),
    (Field::RequestedSize, "requested_size"),
    (Field::Filename, "filename"),
    (Field::Line, "line"),
    (Field::Name, "name"),
    (Field::SegmentPoolId, "segment_pool_id"),
];

impl Field {
    /// Adds the keys to `frames`, which must not contain any texts yet.
    pub(super) fn register(frames: &mut Frames) {
        debug_assert_eq!(frames.texts(), 0);
        FIELDS.iter().for_each(|(_, name)| {
            frames.text(name);
        });
    }

    /// Returns the text of the key in a snapshot.
    pub(crate) fn name(self) -> &'static str {
        FIELDS.iter().find(|(field, _)| *field == self).map_or("", |(_, name)| name)
    }

    /// Returns the key with the given text, if its values are stored.
    pub(super) fn of(text: Text) -> Option<Self> {
        let at = usize::try_from(text.0).ok()?;
        FIELDS.get(at).map(|&(field, _)| field)
    }
}

/// A value on the stack, in a list or in a dictionary.
#[derive(Debug, Default)]
pub(crate) enum Value {
    /// A value that no snapshot needs, such as `None`, a boolean, a float or bytes.
    #[default]
    Nothing,
    Int(Number),
    Text(Text),
    /// A list or dictionary to which several references exist. The number is its index in the
    /// table.
    Shared(u32),
    /// A list, tuple or set.
    List(Box<List>),
    Dict(Box<Dict>),
    /// A dictionary that contains an action.
    Entry(Box<Entry>),
}

impl Value {
    /// Returns a copy of the value, unless this would give the contents a second owner.
    pub(super) fn again(&self) -> Option<Self> {
        match self {
            Self::Nothing => Some(Self::Nothing),
            Self::Int(number) => Some(Self::Int(*number)),
            Self::Text(text) => Some(Self::Text(*text)),
            Self::Shared(number) => Some(Self::Shared(*number)),
            Self::List(_) | Self::Dict(_) | Self::Entry(_) => None,
        }
    }

    /// Returns the number of levels of nested values that this value owns.
    pub(super) fn depth(&self) -> u8 {
        match self {
            Self::List(list) => list.depth,
            Self::Dict(dict) => dict.depth,
            _ => 0,
        }
    }

    /// Returns the number of lists and dictionaries that this value owns, including itself.
    pub(super) fn containers(&self) -> u64 {
        match self {
            Self::List(list) => {
                1 + list.entries.len() as u64 + list.items.iter().map(Self::containers).sum::<u64>()
            }
            Self::Dict(dict) => {
                1 + dict.items.iter().map(|(_, value)| value.containers()).sum::<u64>()
            }
            Self::Entry(_) => 1,
            Self::Nothing | Self::Int(_) | Self::Text(_) | Self::Shared(_) => 0,
        }
    }

    /// Returns the value as an integer.
    pub(crate) fn number(&self) -> Number {
        if let Self::Int(number) = self { *number } else { Number::NotInteger }
    }
}

/// A list, and the number of levels of nested values that it owns.
#[derive(Debug, Default)]
pub(crate) struct List {
    pub(crate) items: Vec<Value>,
    /// The items of a list that contains only trace entries. A trace may contain many entries. If
    /// `entries` is used, `items` is empty.
    pub(super) entries: Vec<Entry>,
    /// The number of the trace whose entries were passed on instead of stored, if this list is such
    /// a trace. If `trace` is set, `items` and `entries` are empty.
    pub(super) trace: Option<u32>,
    pub(super) depth: u8,
}

impl List {
    /// Appends an item.
    pub(super) fn push(&mut self, item: Value) {
        match item {
            Value::Entry(entry) if self.items.is_empty() => self.entries.push(*entry),
            item => {
                let entries = std::mem::take(&mut self.entries).into_iter();
                self.items.extend(entries.map(|entry| Value::Entry(Box::new(entry))));
                self.items.push(item);
            }
        }
    }
}

/// The part of a dictionary that is stored.
#[derive(Debug, Default)]
pub(crate) struct Dict {
    items: Vec<(Field, Value)>,
    pub(super) depth: u8,
}

impl Dict {
    /// Returns the value of a key.
    pub(crate) fn get(&self, field: Field) -> Option<&Value> {
        self.items.iter().find(|(key, _)| *key == field).map(|(_, value)| value)
    }

    /// Returns the number stored under a key.
    pub(crate) fn number(&self, field: Field) -> Number {
        self.get(field).map_or(Number::Missing, Value::number)
    }

    pub(super) fn set(&mut self, field: Field, value: Value) {
        match self.items.iter_mut().find(|(key, _)| *key == field) {
            Some((_, old)) => *old = value,
            None => self.items.push((field, value)),
        }
    }

    /// The pairs of keys and values.
    pub(super) fn into_items(self) -> Vec<(Field, Value)> {
        self.items
    }
}

/// An entry of a trace.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Entry {
    pub(crate) action: Option<Text>,
    pub(crate) addr: Number,
    pub(crate) size: Number,
    pub(crate) stream: Number,
    pub(crate) time: Number,
    pub(crate) stack: Stack,
}
