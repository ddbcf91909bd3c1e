//! The stack machine that executes a pickle. The entries of traces are stored, or passed on as soon
//! as they are complete. Limits on the depth of nesting, on the number of lists
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
/// The maximum number of lists and dictionaries that are stored at the same time. An empty list or
/// dictionary takes one byte in the file and about 64 bytes in memory.
const MOST_CONTAINERS: u64 = if cfg!(test) { 1 << 14 } else { 1 << 25 };
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

/// Receives the number of a trace and the next entry of this trace. Traces are numbered in the
/// order in which their first entries occur.
pub(crate) type Take<'a> = dyn FnMut(u32, Entry, &Frames) + 'a;

/// A pickle that can be read several times.
pub(crate) struct Reader<'a, R> {
    source: &'a mut R,
    start: u64,
    fetched: HashSet<u32>,
}

impl<'a, R: BufRead + Seek> Reader<'a, R> {
    /// Checks a pickle, starting at the position of `source`. `frames` must be new.
    pub(crate) fn new(source: &'a mut R, frames: &mut Frames) -> Result<Self, LogError> {
        skip_legacy(source)?;
        let start = source.stream_position()?;
        let fetched = fetched(source)?;
        Field::register(frames);
        Ok(Self { source, start, fetched })
    }

    /// Reads the pickle, and stores the entries of its traces.
    pub(crate) fn read(&mut self, frames: &mut Frames) -> Result<Pickle, LogError> {
        let pickle = self.run(frames, None)?;
        Ok(pickle.unwrap_or_default())
    }

    /// Reads the pickle, and passes on the entries of its traces instead of storing them. Returns
    /// `None` if the entries must be stored, because the pickle contains several references to an
    /// entry, or mixes entries with other values.
    pub(crate) fn stream(
        &mut self,
        frames: &mut Frames,
        take: &mut Take<'_>,
    ) -> Result<Option<Pickle>, LogError> {
        self.run(frames, Some(take))
    }

    fn run(
        &mut self,
        frames: &mut Frames,
        take: Option<&mut Take<'_>>,
    ) -> Result<Option<Pickle>, LogError> {
        self.source.seek(SeekFrom::Start(self.start))?;
        Machine::new(&self.fetched, frames, take).run(self.source)
    }
}

/// The number of entries after which the items of an unfinished list are passed on. `PyTorch`'s own
/// pickler appends all entries of a trace with a single opcode.
const PASSED_ON_EARLY: usize = if cfg!(test) { 3 } else { 1 << 12 };

/// A mark on the stack.
#[derive(Clone, Copy, Debug)]
struct Mark {
    /// The number of values below the mark.
    floor: usize,
    /// `true` if values above the mark have already been appended to the list below it.
    is_appended: bool,
}

/// The state of a pass that builds values.
struct Machine<'a, 'b> {
    stack: Vec<Value>,
    marks: Vec<Mark>,
    memo: HashMap<u32, Value>,
    memoized: u32,
    containers: u64,
    fetched: &'a HashSet<u32>,
    pickle: Pickle,
    frames: &'a mut Frames,
    /// The function to which entries are passed on, unless they are stored.
    take: Option<&'a mut Take<'b>>,
    /// The number of traces whose entries have been passed on.
    traces: u32,
    /// `true` if the entries must be stored. The pass then ends.
    must_store: bool,
}

impl<'a, 'b> Machine<'a, 'b> {
    fn new(
        fetched: &'a HashSet<u32>,
        frames: &'a mut Frames,
        take: Option<&'a mut Take<'b>>,
    ) -> Self {
        Self {
            stack: Vec::new(),
            marks: Vec::new(),
            memo: HashMap::new(),
            memoized: 0,
            containers: 0,
            fetched,
            pickle: Pickle::default(),
            frames,
            take,
            traces: 0,
            must_store: false,
        }
    }

    /// Executes all opcodes. Returns `None` if the entries must be stored.
    fn run(mut self, source: &mut impl BufRead) -> Result<Option<Pickle>, LogError> {
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
            // An opcode may lack an operand that was passed on too early.
            self.must_store |= done.is_err() && self.marks.iter().any(|mark| mark.is_appended);
            if self.must_store {
                return Ok(None);
            }
            done.map_err(|error| scanner.wrong(error))?;
        }
        self.pickle.root =
            self.stack.pop().ok_or_else(|| scanner.wrong(PickleError::Stack { name: "STOP" }))?;
        Ok(Some(self.pickle))
    }

    /// Executes an opcode without an argument.
    fn step(&mut self, opcode: Opcode) -> Result<(), PickleError> {
        match opcode {
            Opcode::Proto | Opcode::Frame | Opcode::Stop => Ok(()),
            Opcode::Mark => {
                self.marks.push(Mark { floor: self.stack.len(), is_appended: false });
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
        self.append_early();
        self.stack.push(value);
        self.check_stack(self.stack.len())
    }

    fn check_stack(&self, length: usize) -> Result<(), PickleError> {
        at_most("values on the stack", length as u64, MOST_STACK)
    }

    /// Returns the number of values below the last mark.
    fn floor(&self) -> usize {
        self.marks.last().map_or(0, |mark| mark.floor)
    }

    fn pop(&mut self, name: &'static str) -> Result<Value, PickleError> {
        // Values below a mark cannot be accessed.
        let floor = self.floor();
        if self.stack.len() <= floor {
            return Err(PickleError::Stack { name });
        }
        self.stack.pop().ok_or(PickleError::Stack { name })
    }

    fn since_mark(&mut self, name: &'static str) -> Result<Vec<Value>, PickleError> {
        let mark = self.marks.pop().ok_or(PickleError::Stack { name })?;
        self.must_store |= mark.is_appended && name != "APPENDS";
        Ok(self.stack.split_off(mark.floor))
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
        let floor = self.floor();
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
        let is_entry = |item: &Value| matches!(item, Value::Entry(_));
        if self.take.is_some() && items.iter().any(is_entry) {
            self.top(name)?;
            self.pass_on(self.stack.len() - 1, items);
            return Ok(());
        }
        let deepest = items.iter().map(Value::depth).max().unwrap_or(0);
        let Value::List(list) = self.top(name)? else { return Err(PickleError::Stack { name }) };
        list.depth = deeper(list.depth, deepest)?;
        let is_mixed = list.trace.is_some() && !items.is_empty();
        items.into_iter().for_each(|item| list.push(item));
        self.must_store |= is_mixed;
        Ok(())
    }

    /// Passes on entries that are appended to the list at an index of the stack. If the list or an
    /// item is of another kind, all entries must be stored.
    fn pass_on(&mut self, list: usize, items: Vec<Value>) {
        let (Some(Value::List(list)), Some(take)) = (self.stack.get_mut(list), &mut self.take)
        else {
            self.must_store = true;
            return;
        };
        if !list.items.is_empty() {
            self.must_store = true;
            return;
        }
        let trace = *list.trace.get_or_insert_with(|| {
            self.traces += 1;
            self.traces - 1
        });
        list.depth = list.depth.max(1);
        for item in items {
            let Value::Entry(entry) = item else {
                self.must_store = true;
                return;
            };
            take(trace, *entry, self.frames);
            self.containers -= 1;
        }
    }

    /// Passes on the entries above the last mark if there are many and a list is below the mark.
    /// The mark remembers this, in case the list is not what the entries are appended to.
    fn append_early(&mut self) {
        let floor = self.floor();
        if self.take.is_none() || self.stack.len() - floor < PASSED_ON_EARLY {
            return;
        }
        let is_trace = matches!(self.stack.last(), Some(Value::Entry(_)));
        let Some(list) = floor.checked_sub(1).filter(|_| is_trace) else { return };
        if let (Some(Value::List(_)), Some(mark)) = (self.stack.get(list), self.marks.last_mut()) {
            mark.is_appended = true;
            let items = self.stack.split_off(floor);
            self.pass_on(list, items);
        }
    }

    /// Sets keys of the dictionary on top. The values in `pairs` are alternately keys and values.
    fn set(&mut self, name: &'static str, pairs: Vec<Value>) -> Result<(), PickleError> {
        if pairs.len() % 2 == 1 {
            return Err(PickleError::Stack { name });
        }
        let mut pairs = pairs.into_iter();
        while let (Some(key), Some(value)) = (pairs.next(), pairs.next()) {
            let field = if let Value::Text(key) = key { Field::of(key) } else { None };
            match field {
                Some(field) => self.set_field(name, field, value)?,
                None => self.containers -= key.containers() + value.containers(),
            }
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
        self.containers -= value.containers();
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
