//! Reads a JSON problem for `pool-plan solve` as a log. The problem is either a graph, such as the
//! record of a capture, or a set of buffers with lifetimes. If the buffers are placed in several
//! memories, each memory is a device.
//!
//! The operations of a graph are passed on in the order of their numbers if the edges allow it,
//! because a capture numbers operations in call order. A buffer is freed after the last of its free
//! markers. A buffer without free markers is freed at the end of the graph.

use std::borrow::Cow;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};
use std::io::{BufRead, Read as _};

use pool_plan::{
    GraphBuffer, GraphRecord, HappensBeforeProblem, IntervalProblem, MemoryProblem, PlanError, Role,
};
use serde::Deserialize;
use serde::de::IgnoredAny;

use super::error::LogError;
use super::event::{Action, Event, Place};
use super::frames::{Frame, Frames, Stack};
use super::minimalloc;

/// The maximum number of bytes that are read from a file. The limit exists because a problem is
/// validated as a whole.
const MOST_BYTES: u64 = 1 << 28;

/// The keys with which a problem may begin. No line of this project's log format contains any of
/// these keys.
pub(super) const KEYS: [&str; 7] =
    ["operations", "edges", "buffers", "capacity", "streams", "callers", "memories"];

/// The kind of problem that a file contains.
#[derive(Deserialize)]
struct Kind {
    operations: Option<IgnoredAny>,
    memories: Option<IgnoredAny>,
}

/// Reads a problem. If the problem is a graph, returns the graph, because its edges order the
/// buffers less strictly than the events do.
pub(super) fn read(
    source: &mut impl BufRead,
    frames: &mut Frames,
    sink: &mut dyn FnMut(Event),
) -> Result<Option<HappensBeforeProblem>, LogError> {
    let mut text = String::new();
    source.by_ref().take(MOST_BYTES + 1).read_to_string(&mut text)?;
    if text.len() as u64 > MOST_BYTES {
        let limit = usize::try_from(MOST_BYTES).unwrap_or(usize::MAX);
        return Err(PlanError::TooMany { what: "bytes of text", count: text.len(), limit }.into());
    }
    let text = text.strip_prefix('\u{feff}').unwrap_or(&text);
    // With LF line ends, the parser can also count lines that originally ended with a single CR.
    let text = &with_line_feeds(text);
    let kind = serde_json::from_str::<Kind>(text).ok().filter(|kind| kind.operations.is_none());
    if kind.as_ref().is_some_and(|kind| kind.memories.is_some()) {
        let problem: MemoryProblem =
            serde_json::from_str(text).map_err(|error| LogError::json(&error))?;
        memories(&problem, sink)?;
        return Ok(None);
    }
    if kind.is_some() {
        let problem: IntervalProblem =
            serde_json::from_str(text).map_err(|error| LogError::json(&error))?;
        minimalloc::replay(&problem, sink);
        return Ok(None);
    }
    let record = GraphRecord::from_json(text).map_err(|error| located(error, text))?;
    GraphLog { record: &record, frames, sink }.replay();
    Ok(Some(record.problem().clone()))
}

/// Passes on the buffers of a problem with several memories. Each memory is a device.
fn memories(problem: &MemoryProblem, sink: &mut dyn FnMut(Event)) -> Result<(), LogError> {
    let mut buffers = Vec::with_capacity(problem.buffers().len());
    for one in problem.buffers() {
        let memory = one.memory.or_else(|| match one.memories[..] {
            [only] => Some(only),
            _ => None,
        });
        let device = memory.and_then(|memory| u32::try_from(memory).ok());
        let Some(device) = device else {
            return Err(LogError::Problem {
                place: format!("buffer {}", one.buffer.id),
                message: format!(
                    "the buffer may be placed in any of {} memories: plan the problem with \
                     `pool-plan solve --out plan.json`, and replay the plan",
                    one.memories.len()
                ),
            });
        };
        buffers.push((&one.buffer, device));
    }
    minimalloc::pass_on(&buffers, sink);
    Ok(())
}

/// Returns the text with each CR replaced by LF, unless an LF follows the CR. JSON strings never
/// contain a raw CR.
pub(super) fn with_line_feeds(text: &str) -> Cow<'_, str> {
    if !text.contains('\r') {
        return Cow::Borrowed(text);
    }
    let mut letters = text.chars().peekable();
    let mut replaced = String::with_capacity(text.len());
    while let Some(letter) = letters.next() {
        let is_end = letter == '\r' && letters.peek() != Some(&'\n');
        replaced.push(if is_end { '\n' } else { letter });
    }
    Cow::Owned(replaced)
}

/// The parts of a graph in JSON that refer to operations.
#[derive(Default, Deserialize)]
struct Names {
    #[serde(default)]
    buffers: Vec<NamedBuffer>,
    #[serde(default)]
    edges: Vec<NamedEdge>,
}

#[derive(Deserialize)]
struct NamedBuffer {
    id: String,
    #[serde(default)]
    allocated_by: u64,
    #[serde(default)]
    freed_by: Vec<u64>,
}

#[derive(Deserialize)]
struct NamedEdge {
    from: u64,
    to: u64,
}

/// Returns an error of a graph that names the buffer or the edge.
fn located(error: PlanError, text: &str) -> LogError {
    match error {
        PlanError::UnknownOperation { operation, .. } => {
            let names: Names = serde_json::from_str(text).unwrap_or_default();
            let place = place_of(&names, operation as u64);
            LogError::Problem { place, message: error.to_string() }
        }
        PlanError::WrongCount { what, count, expected } => LogError::Problem {
            place: what.to_owned(),
            message: format!("the list has {count} entries, but must have {expected}"),
        },
        _ => error.into(),
    }
}

/// Returns the first part that refers to an operation.
fn place_of(names: &Names, operation: u64) -> String {
    let is_named = |edge: &NamedEdge| edge.from == operation || edge.to == operation;
    if let Some(at) = names.edges.iter().position(is_named) {
        return format!("edges[{at}]");
    }
    for one in &names.buffers {
        if one.allocated_by == operation {
            return format!("buffer {}, allocated_by", one.id);
        }
        if one.freed_by.contains(&operation) {
            return format!("buffer {}, freed_by", one.id);
        }
    }
    "the graph".to_owned()
}

/// A graph that is passed on as a log.
struct GraphLog<'a> {
    record: &'a GraphRecord,
    frames: &'a mut Frames,
    sink: &'a mut dyn FnMut(Event),
}

/// The buffers that are allocated and freed at one position in the order.
#[derive(Default)]
struct Step {
    allocated: Vec<usize>,
    freed: Vec<usize>,
}

impl GraphLog<'_> {
    fn replay(&mut self) {
        let problem = self.record.problem();
        let order = order(problem);
        let places: BTreeMap<usize, usize> = order.iter().copied().zip(0..).collect();
        let place = |operation: &usize| places.get(operation).copied().unwrap_or(0);
        let end = order.len();
        let mut steps: Vec<Step> = std::iter::repeat_with(Step::default).take(end + 1).collect();
        // A buffer of size 0 is never live, and its offset may lie inside another buffer.
        let with_bytes = problem.buffers().iter().enumerate().filter(|(_, one)| one.size > 0);
        for (index, buffer) in with_bytes {
            let is_shared = buffer.role == Role::Temporary;
            let first = if is_shared { place(&buffer.allocated_by) } else { 0 };
            let last = buffer.freed_by.iter().map(place).max().filter(|_| is_shared);
            steps[first].allocated.push(index);
            // A free marker that is unordered with the alloc marker may come before it in this
            // order.
            steps[last.map_or(end, |last| last.max(first))].freed.push(index);
        }
        if let Some(capacity) = self.record.capacity() {
            let event = Event::new(Action::Reserve, Place::Arena, 0, capacity);
            (self.sink)(Event { time: Some(0), ..event });
        }
        let addresses = self.addresses();
        for (at, step) in steps.iter().enumerate() {
            let operation = order.get(at).copied();
            for &buffer in &step.allocated {
                self.event(Action::Allocate, buffer, addresses[buffer], (operation, at));
            }
            for &buffer in &step.freed {
                // The frees of an operation happen at the same time as the allocations of the next
                // operation.
                self.event(Action::Free, buffer, addresses[buffer], (operation, at + 1));
            }
        }
    }

    fn event(&mut self, action: Action, buffer: usize, address: u64, at: (Option<usize>, usize)) {
        let (operation, time) = at;
        let place = operation.map_or(Place::End, Place::Operation);
        let bytes = self.record.problem().buffers()[buffer].size;
        let event = Event::new(action, place, address, bytes);
        let allocated_by = self.record.problem().buffers()[buffer].allocated_by;
        let stream = self.record.stream(operation.unwrap_or(allocated_by)).unwrap_or(0);
        let stack = self.stack(buffer);
        let time = i64::try_from(time).ok();
        (self.sink)(Event { stream: stream.into(), stack, time, ..event });
    }

    fn stack(&mut self, buffer: usize) -> Stack {
        let Some(caller) = self.record.caller(buffer) else { return Stack::default() };
        let filename = self.frames.text(&caller.filename);
        let name = self.frames.text(&caller.name);
        self.frames.stack(&[Frame { filename, line: caller.line.into(), name }])
    }

    /// Returns the offsets of the plan. Without a plan, each buffer is assigned its own addresses.
    fn addresses(&self) -> Vec<u64> {
        self.record.offsets().unwrap_or_else(|| {
            let mut end = 0_u64;
            let mut place = |buffer: &GraphBuffer| {
                let start = end;
                end = end.saturating_add(buffer.size);
                start
            };
            self.record.problem().buffers().iter().map(&mut place).collect()
        })
    }
}

/// Returns the operations that edges or buffers name, in an order that respects all edges.
/// Unordered operations are sorted by number.
fn order(problem: &HappensBeforeProblem) -> Vec<usize> {
    let mut waits: BTreeMap<usize, usize> = BTreeMap::new();
    for buffer in problem.buffers() {
        for &operation in buffer.freed_by.iter().chain([&buffer.allocated_by]) {
            waits.entry(operation).or_default();
        }
    }
    let mut edges: Vec<(usize, usize)> =
        problem.edges().iter().map(|edge| (edge.from, edge.to)).collect();
    edges.sort_unstable();
    for &(from, to) in &edges {
        waits.entry(from).or_default();
        *waits.entry(to).or_default() += 1;
    }
    let mut ready: BinaryHeap<Reverse<usize>> =
        waits.iter().filter(|&(_, &count)| count == 0).map(|(&one, _)| Reverse(one)).collect();
    let mut order = Vec::with_capacity(waits.len());
    while let Some(Reverse(operation)) = ready.pop() {
        order.push(operation);
        let first = edges.partition_point(|&(from, _)| from < operation);
        let after = edges[first..].iter().take_while(|&&(from, _)| from == operation);
        for (_, to) in after {
            let Some(count) = waits.get_mut(to) else { continue };
            *count -= 1;
            if *count == 0 {
                ready.push(Reverse(*to));
            }
        }
    }
    order
}
