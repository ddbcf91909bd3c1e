//! The captures under way in this process: which streams they have, and what is to be destroyed once
//! they are over. A graph that is destroyed during a capture may spoil it, whichever thread does it; and
//! what is put on a stream while a session captures it would become a part of that graph.
//!
//! Under the lock there is only looking and moving: room is made before it is taken, and what it held is dropped
//! after. A launch and a drop need no room.

use std::mem;
use std::sync::Arc;

use parking_lot::{Condvar, Mutex, MutexGuard};
use pool_cuda::cudarc::driver::CudaStream;
use pool_cuda::{Chain, CudaError, DriverCode, is_capturing};

use super::handles::{Executable, Graph, HostBuffer};
use super::sharing::Shares;
use super::staged::Staged;
use crate::capture::driver::{bind, wait_for};
use crate::capture::{CaptureError, Setting};
use crate::room::{NoRoom, lock_with_room};
use crate::sync::{get_ready_to_wait, is_ready_to_wait};

static CAPTURES: Mutex<Captures> = Mutex::new(Captures {
    captured: Vec::new(),
    known: Vec::new(),
    arenas: Vec::new(),
    deferred: Chain::new(),
});

/// A stream has come to rest, or is in use no more.
static CHANGED: Condvar = Condvar::new();

/// What tells a stream from every other one: its handle and context.
type Key = (usize, usize);

/// Held for a look or a change, and for no call of the driver.
struct Captures {
    /// The streams that sessions have for a capture.
    captured: Vec<Captured>,
    /// The streams that graphs run on, in order.
    known: Vec<Known>,
    /// Where the arenas begin that a session or a graph has.
    arenas: Vec<u64>,
    deferred: Chain<Option<Remains>>,
}

/// A stream that a session has for a capture.
#[derive(Clone, Copy)]
struct Captured {
    stream: Key,
    /// Whether its work from before is done.
    is_settled: bool,
}

/// A stream that graphs run on.
#[derive(Clone, Copy)]
struct Known {
    stream: Key,
    settings: usize,
    /// How many calls of the driver graphs are making on it.
    uses: usize,
}

impl Captures {
    fn captured(&self, stream: &Key) -> Option<&Captured> {
        self.captured.iter().find(|captured| captured.stream == *stream)
    }

    fn known(&mut self, stream: &Key) -> Option<&mut Known> {
        let place = self.known.binary_search_by_key(stream, |known| known.stream).ok()?;
        Some(&mut self.known[place])
    }

    fn is_in_use(&mut self, stream: &Key) -> bool {
        self.known(stream).is_some_and(|known| known.uses > 0)
    }
}

/// What is left of a dropped graph, or of one whose parameters were replaced: destroyed in this order. Only what the
/// driver destroys waits for the captures of others; memory and blocks are given back as soon as nothing runs.
#[derive(Debug)]
pub(super) struct Remains {
    pub(super) executable: Option<Executable>,
    pub(super) graph: Graph,
    pub(super) host: Vec<Option<HostBuffer>>,
    pub(super) doubtful: Vec<HostBuffer>,
    pub(super) staged: Staged,
    pub(super) shares: Shares,
    /// None once nothing runs any more.
    pub(super) setting: Option<Arc<Setting>>,
    /// They outlive what ran on them.
    pub(super) streams: Arc<[Arc<CudaStream>]>,
}

/// A place for remains, made before there are any: a drop then needs no memory.
#[derive(Debug, Default)]
pub(crate) struct Place(Chain<Option<Remains>>);

impl Place {
    pub(crate) fn new() -> Result<Self, CaptureError> {
        Ok(Self(Chain::of(None)?))
    }

    /// Destroys remains, now or when the last capture of the process ends. What of the graph still runs is
    /// waited for first: its state goes after it.
    pub(super) fn end(mut self, remains: Remains) {
        if let Some(place) = self.0.iter_mut().next() {
            *place = Some(remains);
        }
        end_each(self.0);
        end_deferred();
    }
}

fn key(stream: &CudaStream) -> Key {
    (stream.cu_stream().addr(), stream.context().cu_ctx().addr())
}

/// A stream that graphs may run on, until it is dropped: using it takes no memory.
#[derive(Debug)]
pub(crate) struct RunsOn(Key);

impl RunsOn {
    pub(crate) fn new(stream: &CudaStream) -> Result<Self, CaptureError> {
        let stream = key(stream);
        let mut captures = with_room(|captures| &mut captures.known, 1)?;
        match captures.known.binary_search_by_key(&stream, |known| known.stream) {
            Ok(place) => captures.known[place].settings += 1,
            Err(place) => captures.known.insert(place, Known { stream, settings: 1, uses: 0 }),
        }
        Ok(Self(stream))
    }
}

impl Drop for RunsOn {
    fn drop(&mut self) {
        let mut captures = CAPTURES.lock();
        if let Some(known) = captures.known(&self.0) {
            known.settings -= 1;
        }
        captures.known.retain(|known| known.settings > 0);
    }
}

/// Takes the lock, with room in a list.
fn with_room<T>(
    of: impl Fn(&mut Captures) -> &mut Vec<T>,
    more: usize,
) -> Result<MutexGuard<'static, Captures>, NoRoom> {
    lock_with_room(|| CAPTURES.lock(), of, more)
}

/// Waits for a change; what a thread needs for waiting is made without the lock, which was changed then, too.
fn wait(mut captures: MutexGuard<'_, Captures>) {
    if is_ready_to_wait() {
        CHANGED.wait(&mut captures);
    } else {
        drop(captures);
        get_ready_to_wait();
    }
}

/// Streams that are captured by a session, until it is dropped.
#[derive(Debug)]
pub(crate) struct Capturing(Vec<Key>);

impl Capturing {
    /// Takes all of them, which nobody else captures, and waits until their work is done.
    pub(crate) fn enter(streams: &[Arc<CudaStream>]) -> Result<Self, CaptureError> {
        let capturing = Self::reserve(streams.iter().map(|stream| key(stream)).collect())?;
        for stream in streams {
            if is_capturing(stream)? {
                let stream = stream.cu_stream().addr() as u64;
                return Err(CaptureError::AlreadyCapturing { stream });
            }
            wait_for(stream)?;
        }
        capturing.settle();
        CHANGED.notify_all();
        Ok(capturing)
    }

    fn reserve(keys: Vec<Key>) -> Result<Self, CaptureError> {
        loop {
            let mut captures = with_room(|captures| &mut captures.captured, keys.len())?;
            if let Some(taken) = keys.iter().find(|key| captures.captured(key).is_some()) {
                return Err(CaptureError::AlreadyCapturing { stream: taken.0 as u64 });
            }
            if keys.iter().any(|key| captures.is_in_use(key)) {
                wait(captures);
                continue;
            }
            let new = |&stream: &Key| Captured { stream, is_settled: false };
            captures.captured.extend(keys.iter().map(new));
            drop(captures);
            return Ok(Self(keys));
        }
    }

    fn settle(&self) {
        let mut captures = CAPTURES.lock();
        let own = captures.captured.iter_mut().filter(|captured| self.0.contains(&captured.stream));
        own.for_each(|captured| captured.is_settled = true);
    }
}

impl Drop for Capturing {
    fn drop(&mut self) {
        CAPTURES.lock().captured.retain(|captured| !self.0.contains(&captured.stream));
        CHANGED.notify_all();
        end_deferred();
    }
}

/// A call of the driver on a stream, until it is dropped: no session captures the stream meanwhile.
#[derive(Debug)]
#[must_use = "a session may capture the stream as soon as this is dropped"]
pub(super) struct StreamUse(Key);

impl StreamUse {
    /// `None` where a session captures the stream.
    pub(super) fn begin(on: &RunsOn) -> Option<Self> {
        let mut captures = CAPTURES.lock();
        if captures.captured(&on.0).is_some() {
            return None;
        }
        if let Some(known) = captures.known(&on.0) {
            known.uses += 1;
        }
        Some(Self(on.0))
    }
}

impl Drop for StreamUse {
    fn drop(&mut self) {
        if let Some(known) = CAPTURES.lock().known(&self.0) {
            known.uses -= 1;
        }
        CHANGED.notify_all();
    }
}

/// Takes an arena for one session or graph; false where it is taken.
pub(crate) fn take_arena(address: u64) -> Result<bool, NoRoom> {
    let mut captures = with_room(|captures| &mut captures.arenas, 1)?;
    let free = !captures.arenas.contains(&address);
    if free {
        captures.arenas.push(address);
    }
    Ok(free)
}

pub(super) fn give_arena_back(address: u64) {
    CAPTURES.lock().arenas.retain(|&taken| taken != address);
}

/// Destroys those that had to wait, as far as that may be now.
fn end_deferred() {
    let due = {
        let mut captures = CAPTURES.lock();
        if !captures.captured.is_empty() {
            return;
        }
        mem::take(&mut captures.deferred)
    };
    end_each(due);
}

/// Destroys what may be destroyed, and defers the others.
fn end_each(mut due: Chain<Option<Remains>>) {
    while let Some(mut one) = due.pop() {
        for place in one.iter_mut() {
            *place = place.take().and_then(Remains::destroy);
        }
        if one.iter().any(Option::is_some) {
            CAPTURES.lock().deferred.add(one);
        }
    }
}

impl Remains {
    /// Destroys them, unless a capture is under way: then they only give back what others may want.
    fn destroy(mut self) -> Option<Self> {
        if self.setting.as_ref().is_some_and(|setting| !come_to_rest(setting)) {
            return Some(self);
        }
        if !CAPTURES.lock().captured.is_empty() {
            let given_back = (mem::take(&mut self.shares), self.setting.take());
            drop(given_back);
            return Some(self);
        }
        let Self { executable, graph, host, doubtful, staged, shares, setting, streams } = self;
        drop(executable);
        drop(graph);
        drop((host, doubtful, staged));
        drop(shares);
        drop(setting);
        drop(streams);
        None
    }
}

/// Waits for all that a stream holds, and for nothing that is being captured on it; false where that
/// cannot be, because somebody captures the stream by hand, or the driver does not answer.
pub(super) fn come_to_rest(setting: &Setting) -> bool {
    // Each time round, a session had the stream, and has given it up without waiting for it: it was refused,
    // and does not come back by itself.
    loop {
        if let Some(_in_use) = StreamUse::begin(setting.runs_on()) {
            return rest(setting.stream());
        }
        if wait_until_settled(setting.runs_on()) {
            return true;
        }
    }
}

/// Waits for a stream that no session captures. Where its context is gone, nothing runs there any more; after any
/// other error something may.
fn rest(stream: &CudaStream) -> bool {
    let is_captured = bind(stream.context()).and_then(|()| is_capturing(stream));
    let waited = match is_captured {
        Ok(true) => return false,
        // Somebody may capture it from here on: then it is not waited for, and that is an error.
        Ok(false) => wait_for(stream),
        Err(error) => Err(error),
    };
    let is_gone = |error: CudaError| error.code().is_some_and(DriverCode::says_gone);
    waited.map_or_else(is_gone, |()| true)
}

/// Waits until a session has waited for what the stream held before; false where it gave up.
fn wait_until_settled(on: &RunsOn) -> bool {
    loop {
        let captures = CAPTURES.lock();
        match captures.captured(&on.0) {
            None => return false,
            Some(captured) if captured.is_settled => return true,
            Some(_) => wait(captures),
        }
    }
}
