//! The stack machine that executes a pickle. Limits on the depth of nesting, on the number of lists
//! and dictionaries, and on the memo bound the memory that a small file can demand.

use std::collections::{HashMap, HashSet};
use std::io::{BufRead, Seek, SeekFrom};

use super::super::error::LogError;
use super::super::frames::{Frames, Stack};
use super::data::Pickle;
use super::error::PickleError;
use super::opcode::Opcode;
use super::scanner::{Argument, Scanner};
use super::value::{Entry, Field, Value};

/// The maximum depth of nested lists and dictionaries.
const MOST_DEPTH: u8 = 64;
/// The maximum number of lists and dictionaries. An empty list or dictionary takes one byte in the
/// file and 48 bytes in memory.
const MOST_CONTAINERS: u64 = 1 << 25;
/// The maximum number of values on the stack that are not yet in a list.
const MOST_STACK: u64 = 1 << 25;
/// The maximum number of memo entries that are fetched.
const MOST_FETCHED: u64 = 1 << 24;

/// Returns the numbers of all memo entries that the pickle fetches. This first pass over the pickle
/// also refuses invalid pickles.
fn fetched(source: &mut impl BufRead) -> Result<HashSet<u32>, LogError> {
    let mut scanner = Scanner::new(source);
    let mut numbers = HashSet::new();
    loop {
        match scanner.next()? {
            (Opcode::Stop, _) => return Ok(numbers),
            (Opcode::BinGet | Opcode::LongBinGet, Argument::Memo(number)) => {
                numbers.insert(number);
            }
            _ => {}
        }
        if numbers.len() as u64 > MOST_FETCHED {
            let what = "memo entries that are fetched";
            return Err(scanner.wrong(PickleError::TooMany { what, limit: MOST_FETCHED }));
        }
    }
}

/// The start of a file that `torch.save` wrote before it used archives.
const LEGACY: &[u8] = b"\x80\x02\x8a\x0al\xfc\x9cF\xf9 j\xa8P\x19.";

/// Skips the three pickles at the beginning of a legacy file, which contain the magic number, a
/// version, and properties of the machine.
fn skip_legacy(source: &mut impl BufRead) -> Result<(), LogError> {
    if !source.fill_buf()?.starts_with(LEGACY) {
        return Ok(());
    }
    for _ in 0..3 {
        fetched(source)?;
    }
    Ok(())
}

/// Reads a pickle, starting at the position of `source`. `frames` must be new.
pub(crate) fn read(
    source: &mut (impl BufRead + Seek),
    frames: &mut Frames,
) -> Result<Pickle, LogError> {
    skip_legacy(source)?;
    let start = source.stream_position()?;
    let fetched = fetched(source)?;
    source.seek(SeekFrom::Start(start))?;
    Field::register(frames);
    Machine::new(fetched, frames).run(source)
}

/// The state of the second pass.
struct Machine<'a> {
    stack: Vec<Value>,
    marks: Vec<usize>,
    memo: HashMap<u32, Value>,
    memoized: u32,
    containers: u64,
    fetched: HashSet<u32>,
    pickle: Pickle,
    frames: &'a mut Frames,
}

impl<'a> Machine<'a> {
    fn new(fetched: HashSet<u32>, frames: &'a mut Frames) -> Self {
        Self {
            stack: Vec::new(),
            marks: Vec::new(),
            memo: HashMap::new(),
            memoized: 0,
            containers: 0,
            fetched,
            pickle: Pickle::default(),
            frames,
        }
    }

    fn run(mut self, source: &mut impl BufRead) -> Result<Pickle, LogError> {
        let mut scanner = Scanner::new(source);
        loop {
            let (opcode, argument) = scanner.next()?;
            if opcode == Opcode::Stop {
                break;
            }
            let text = match argument {
                Argument::Text(text) => Some(self.frames.text(text)),
                _ => None,
            };
            let done = match (text, argument) {
                (Some(text), _) => self.push(Value::Text(text)),
                (None, Argument::Int(number)) => self.push(Value::Int(number)),
                (None, Argument::Memo(number)) => self.memo(opcode, number),
                (None, _) => self.step(opcode),
            };
            done.map_err(|error| scanner.wrong(error))?;
        }
        self.pickle.root =
            self.stack.pop().ok_or_else(|| scanner.wrong(PickleError::Stack { name: "STOP" }))?;
        Ok(self.pickle)
    }

    /// Executes an opcode without an argument.
    fn step(&mut self, opcode: Opcode) -> Result<(), PickleError> {
        match opcode {
            Opcode::Proto | Opcode::Frame | Opcode::Stop => Ok(()),
            Opcode::Mark => {
                self.marks.push(self.stack.len());
                self.check_stack(self.marks.len())
            }
            Opcode::Pop => self.pop("POP").map(drop),
            Opcode::PopMark => self.since_mark("POP_MARK").map(drop),
            Opcode::EmptyList | Opcode::EmptyTuple | Opcode::EmptySet => self.list(Vec::new()),
            Opcode::EmptyDict => self.dict(Vec::new()),
            Opcode::List | Opcode::Tuple | Opcode::FrozenSet => {
                let items = self.since_mark("TUPLE")?;
                self.list(items)
            }
            Opcode::Tuple1 => self.tuple(1),
            Opcode::Tuple2 => self.tuple(2),
            Opcode::Tuple3 => self.tuple(3),
            Opcode::Dict => {
                let items = self.since_mark("DICT")?;
                self.dict(items)
            }
            Opcode::Append => {
                let item = self.pop("APPEND")?;
                self.append("APPEND", vec![item])
            }
            Opcode::Appends | Opcode::AddItems => {
                let items = self.since_mark("APPENDS")?;
                self.append("APPENDS", items)
            }
            Opcode::SetItem => {
                let value = self.pop("SETITEM")?;
                let key = self.pop("SETITEM")?;
                self.set("SETITEM", vec![key, value])
            }
            Opcode::SetItems => {
                let items = self.since_mark("SETITEMS")?;
                self.set("SETITEMS", items)
            }
            Opcode::Memoize => {
                let number = self.memoized;
                self.put(number)
            }
            _ => self.push(Value::Nothing),
        }
    }

    fn memo(&mut self, opcode: Opcode, number: u32) -> Result<(), PickleError> {
        if matches!(opcode, Opcode::BinPut | Opcode::LongBinPut) {
            return self.put(number);
        }
        let value = self.memo.get(&number).and_then(Value::again);
        self.push(value.ok_or(PickleError::Memo { number })?)
    }

    /// Stores the top of the stack under a number, if the pickle ever fetches this number.
    fn put(&mut self, number: u32) -> Result<(), PickleError> {
        self.memoized = self.memoized.wrapping_add(1);
        let shared = &mut self.pickle.shared;
        let top = self.stack.last_mut().ok_or(PickleError::Stack { name: "MEMOIZE" })?;
        if !self.fetched.contains(&number) {
            return Ok(());
        }
        if top.again().is_none() {
            let in_table = Value::Shared(u32::try_from(shared.len()).unwrap_or(u32::MAX));
            shared.push(std::mem::replace(top, in_table));
        }
        if let Some(value) = top.again() {
            self.memo.insert(number, value);
        }
        Ok(())
    }

    fn push(&mut self, value: Value) -> Result<(), PickleError> {
        self.stack.push(value);
        self.check_stack(self.stack.len())
    }

    fn check_stack(&self, length: usize) -> Result<(), PickleError> {
        at_most("values on the stack", length as u64, MOST_STACK)
    }

    fn pop(&mut self, name: &'static str) -> Result<Value, PickleError> {
        // Values below a mark cannot be accessed.
        let floor = self.marks.last().copied().unwrap_or(0);
        if self.stack.len() <= floor {
            return Err(PickleError::Stack { name });
        }
        self.stack.pop().ok_or(PickleError::Stack { name })
    }

    fn since_mark(&mut self, name: &'static str) -> Result<Vec<Value>, PickleError> {
        let mark = self.marks.pop().ok_or(PickleError::Stack { name })?;
        Ok(self.stack.split_off(mark))
    }

    fn tuple(&mut self, length: usize) -> Result<(), PickleError> {
        let mut items = Vec::with_capacity(length);
        for _ in 0..length {
            items.push(self.pop("TUPLE")?);
        }
        items.reverse();
        self.list(items)
    }

    fn list(&mut self, items: Vec<Value>) -> Result<(), PickleError> {
        self.count()?;
        self.push(Value::List(Box::default()))?;
        if items.is_empty() { Ok(()) } else { self.append("LIST", items) }
    }

    fn dict(&mut self, items: Vec<Value>) -> Result<(), PickleError> {
        self.count()?;
        self.push(Value::Dict(Box::default()))?;
        if items.is_empty() { Ok(()) } else { self.set("DICT", items) }
    }

    fn count(&mut self) -> Result<(), PickleError> {
        self.containers += 1;
        at_most("lists and dictionaries", self.containers, MOST_CONTAINERS)
    }

    /// Returns the list or dictionary on top of the stack.
    fn top(&mut self, name: &'static str) -> Result<&mut Value, PickleError> {
        let floor = self.marks.last().copied().unwrap_or(0);
        let wrong = PickleError::Stack { name };
        if self.stack.len() <= floor {
            return Err(wrong);
        }
        match self.stack.last_mut() {
            Some(Value::Shared(number)) => usize::try_from(*number)
                .ok()
                .and_then(|at| self.pickle.shared.get_mut(at))
                .ok_or(wrong),
            Some(value) => Ok(value),
            None => Err(wrong),
        }
    }

    fn append(&mut self, name: &'static str, items: Vec<Value>) -> Result<(), PickleError> {
        let deepest = items.iter().map(Value::depth).max().unwrap_or(0);
        let Value::List(list) = self.top(name)? else { return Err(PickleError::Stack { name }) };
        list.depth = deeper(list.depth, deepest)?;
        items.into_iter().for_each(|item| list.push(item));
        Ok(())
    }

    /// Sets keys of the dictionary on top. The values in `pairs` are alternately keys and values.
    fn set(&mut self, name: &'static str, pairs: Vec<Value>) -> Result<(), PickleError> {
        if pairs.len() % 2 == 1 {
            return Err(PickleError::Stack { name });
        }
        let mut pairs = pairs.into_iter();
        while let (Some(key), Some(value)) = (pairs.next(), pairs.next()) {
            let Value::Text(key) = key else { continue };
            let Some(field) = Field::of(key) else { continue };
            self.set_field(name, field, value)?;
        }
        // A dictionary is required even if none of the keys is stored.
        match self.top(name)? {
            Value::Dict(_) | Value::Entry(_) => Ok(()),
            _ => Err(PickleError::Stack { name }),
        }
    }

    fn set_field(
        &mut self,
        name: &'static str,
        field: Field,
        value: Value,
    ) -> Result<(), PickleError> {
        if field == Field::Action {
            self.become_entry(name)?;
        }
        if !matches!(self.top(name)?, Value::Entry(_)) {
            let Value::Dict(dict) = self.top(name)? else {
                return Err(PickleError::Stack { name });
            };
            dict.depth = deeper(dict.depth, value.depth())?;
            dict.set(field, value);
            return Ok(());
        }
        let stack = if field == Field::Frames {
            self.pickle.keep_stack(&value, self.frames).map_err(|_| PickleError::FrameLine)?
        } else {
            Stack::default()
        };
        if let Value::Entry(entry) = self.top(name)? {
            set_entry(entry, field, &value, stack);
        }
        Ok(())
    }

    /// Converts the dictionary on top to an entry of a trace, because it contains an action.
    fn become_entry(&mut self, name: &'static str) -> Result<(), PickleError> {
        let items = match self.top(name)? {
            Value::Dict(dict) => std::mem::take(&mut **dict).into_items(),
            Value::Entry(_) => return Ok(()),
            _ => return Err(PickleError::Stack { name }),
        };
        *self.top(name)? = Value::Entry(Box::default());
        items.into_iter().try_for_each(|(field, value)| self.set_field(name, field, value))
    }
}

fn set_entry(entry: &mut Entry, field: Field, value: &Value, stack: Stack) {
    match (field, value) {
        (Field::Action, Value::Text(text)) => entry.action = Some(*text),
        (Field::Addr, _) => entry.addr = value.number(),
        (Field::Size, _) => entry.size = value.number(),
        (Field::Stream, _) => entry.stream = value.number(),
        (Field::TimeUs, _) => entry.time = value.number(),
        (Field::Frames, _) => entry.stack = stack,
        _ => {}
    }
}

/// Returns the depth of a container after a value with `inner` levels has been added to it.
fn deeper(depth: u8, inner: u8) -> Result<u8, PickleError> {
    let depth = depth.max(inner.saturating_add(1));
    at_most("levels of nesting", depth.into(), MOST_DEPTH.into())?;
    Ok(depth)
}

fn at_most(what: &'static str, count: u64, limit: u64) -> Result<(), PickleError> {
    if count > limit { Err(PickleError::TooMany { what, limit }) } else { Ok(()) }
}
