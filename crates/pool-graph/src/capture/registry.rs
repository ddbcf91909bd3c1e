//! The captures under way in this process: which streams they have; and which arenas sessions and graphs have. What is
//! put on a stream while a session captures it would become a part of that graph.
//!
//! Under the lock there is only looking and moving: room is made before it is taken, and what it held is dropped
//! after. A launch and a drop need no room.

use std::sync::Arc;

use parking_lot::{Condvar, Mutex, MutexGuard};
use pool_core::reserve::{NoHostMemory, lock_reserved};
use pool_driver::calls::synchronize;
use pool_driver::capture::is_capturing;
use pool_driver::captures_under_way::CaptureUnderWay;
use pool_driver::context::bind;
use pool_driver::cudarc::driver::CudaStream;
use pool_driver::error::CudaError;
use pool_driver::gone::unless_gone;

use super::error::CaptureError;
use crate::base::sync::{get_ready_to_wait, is_ready_to_wait};

static CAPTURES: Mutex<Registry> = Mutex::new(Registry {
    session_streams: Vec::new(),
    graph_streams: Vec::new(),
    arenas: Vec::new(),
});

/// Tells threads that wait that a stream has come to rest, or is in use no more.
static CHANGED: Condvar = Condvar::new();

/// What tells a stream from every other one: its handle and context.
type Key = (usize, usize);

/// What sessions and graphs have. The lock on it is held for a look or a change, and for no call of the driver.
struct Registry {
    /// The streams that sessions have for a capture.
    session_streams: Vec<SessionStream>,
    /// The streams that graphs run on, in order.
    graph_streams: Vec<GraphStream>,
    /// Where the arenas begin that a session or a graph has.
    arenas: Vec<u64>,
}

/// A stream that a session has for a capture.
#[derive(Clone, Copy)]
struct SessionStream {
    stream: Key,
    /// Whether the work that the stream held before is done.
    is_settled: bool,
}

/// A stream that graphs run on.
#[derive(Clone, Copy)]
struct GraphStream {
    stream: Key,
    /// How many sessions have graphs that run on it.
    setups: usize,
    /// How many calls of the driver graphs are making on it.
    uses: usize,
}

impl Registry {
    fn session_stream(&self, stream: &Key) -> Option<&SessionStream> {
        self.session_streams.iter().find(|captured| captured.stream == *stream)
    }

    fn graph_stream(&mut self, stream: &Key) -> Option<&mut GraphStream> {
        let place = self.graph_streams.binary_search_by_key(stream, |known| known.stream).ok()?;
        Some(&mut self.graph_streams[place])
    }

    fn is_in_use(&mut self, stream: &Key) -> bool {
        self.graph_stream(stream).is_some_and(|known| known.uses > 0)
    }
}

fn key(stream: &CudaStream) -> Key {
    (stream.cu_stream().addr(), stream.context().cu_ctx().addr())
}

/// A stream that graphs may run on, until it is dropped: using it takes no memory.
#[derive(Debug)]
pub(crate) struct RunStream(Key);

impl RunStream {
    pub(crate) fn new(stream: &CudaStream) -> Result<Self, CaptureError> {
        let stream = key(stream);
        let mut captures = with_room(|captures| &mut captures.graph_streams, 1)?;
        match captures.graph_streams.binary_search_by_key(&stream, |known| known.stream) {
            Ok(place) => captures.graph_streams[place].setups += 1,
            Err(place) => {
                captures.graph_streams.insert(place, GraphStream { stream, setups: 1, uses: 0 });
            }
        }
        Ok(Self(stream))
    }
}

impl Drop for RunStream {
    fn drop(&mut self) {
        let mut captures = CAPTURES.lock();
        if let Some(known) = captures.graph_stream(&self.0) {
            known.setups -= 1;
        }
        captures.graph_streams.retain(|known| known.setups > 0);
    }
}

/// Takes the lock of the registry, with room in a list.
fn with_room<T>(
    of: impl Fn(&mut Registry) -> &mut Vec<T>,
    more: usize,
) -> Result<MutexGuard<'static, Registry>, NoHostMemory> {
    lock_reserved(|| CAPTURES.lock(), of, more)
}

/// Waits for a change; what a thread needs for waiting is made without the lock, which was changed then, too.
fn wait(mut captures: MutexGuard<'_, Registry>) {
    if is_ready_to_wait() {
        CHANGED.wait(&mut captures);
    } else {
        drop(captures);
        get_ready_to_wait();
    }
}

/// Streams that are captured by a session, until it is dropped.
#[derive(Debug)]
pub(crate) struct CapturedStreams {
    keys: Vec<Key>,
    /// Keeps eager pools from waiting for a whole context.
    _under_way: CaptureUnderWay,
}

impl CapturedStreams {
    /// Takes all of them, which no other session captures and no graph uses.
    pub(crate) fn reserve(streams: &[Arc<CudaStream>]) -> Result<Self, CaptureError> {
        let keys: Vec<Key> = streams.iter().map(|stream| key(stream)).collect();
        loop {
            let mut captures = with_room(|captures| &mut captures.session_streams, keys.len())?;
            if let Some(taken) = keys.iter().find(|key| captures.session_stream(key).is_some()) {
                return Err(CaptureError::AlreadyCapturing { stream: taken.0 as u64 });
            }
            if keys.iter().any(|key| captures.is_in_use(key)) {
                wait(captures);
                continue;
            }
            let new = |&stream: &Key| SessionStream { stream, is_settled: false };
            captures.session_streams.extend(keys.iter().map(new));
            drop(captures);
            return Ok(Self { keys, _under_way: CaptureUnderWay::begin() });
        }
    }

    /// Waits until their work is done; nobody may capture them by hand.
    pub(crate) fn settle(&self, streams: &[Arc<CudaStream>]) -> Result<(), CaptureError> {
        for stream in streams {
            if is_capturing(stream)? {
                let stream = stream.cu_stream().addr() as u64;
                return Err(CaptureError::AlreadyCapturing { stream });
            }
            synchronize(stream)?;
        }
        self.note_settled();
        CHANGED.notify_all();
        Ok(())
    }

    fn note_settled(&self) {
        let mut captures = CAPTURES.lock();
        let own = captures
            .session_streams
            .iter_mut()
            .filter(|captured| self.keys.contains(&captured.stream));
        own.for_each(|captured| captured.is_settled = true);
    }
}

impl Drop for CapturedStreams {
    fn drop(&mut self) {
        CAPTURES.lock().session_streams.retain(|captured| !self.keys.contains(&captured.stream));
        CHANGED.notify_all();
    }
}

/// A call of the driver on a stream, until it is dropped: no session captures the stream meanwhile.
#[derive(Debug)]
#[must_use = "a session may capture the stream as soon as this is dropped"]
pub(crate) struct StreamUse(Key);

impl StreamUse {
    /// Begins a call on a stream; none where a session captures it.
    pub(crate) fn begin(on: &RunStream) -> Option<Self> {
        let mut captures = CAPTURES.lock();
        if captures.session_stream(&on.0).is_some() {
            return None;
        }
        if let Some(known) = captures.graph_stream(&on.0) {
            known.uses += 1;
        }
        Some(Self(on.0))
    }
}

impl Drop for StreamUse {
    fn drop(&mut self) {
        if let Some(known) = CAPTURES.lock().graph_stream(&self.0) {
            known.uses -= 1;
        }
        CHANGED.notify_all();
    }
}

/// Takes an arena for one session or graph; false where it is taken.
pub(crate) fn take_arena(address: u64) -> Result<bool, NoHostMemory> {
    let mut captures = with_room(|captures| &mut captures.arenas, 1)?;
    let free = !captures.arenas.contains(&address);
    if free {
        captures.arenas.push(address);
    }
    Ok(free)
}

pub(crate) fn give_arena_back(address: u64) {
    CAPTURES.lock().arenas.retain(|&taken| taken != address);
}

/// Waits for all that a stream holds, and for nothing that is being captured on it.
///
/// # Errors
///
/// [`CudaError::Capturing`] where the stream is captured by hand, and why the driver does not wait: then something may
/// run there still.
pub(crate) fn come_to_rest(runs_on: &RunStream, stream: &CudaStream) -> Result<(), CudaError> {
    // Each time round, a session had the stream, and has given it up without waiting for it: it was refused,
    // and does not come back by itself.
    loop {
        if let Some(_in_use) = StreamUse::begin(runs_on) {
            return rest(stream);
        }
        if wait_until_settled(runs_on) {
            return Ok(());
        }
    }
}

/// Waits for a stream that no session captures. Where its context is gone, which a second call confirms, nothing runs
/// there any more. After any other error something may.
fn rest(stream: &CudaStream) -> Result<(), CudaError> {
    let is_captured = bind(stream.context()).and_then(|()| is_capturing(stream));
    let waited = match is_captured {
        Ok(true) => return Err(CudaError::Capturing { operation: "wait for the runs of a graph" }),
        // Somebody may capture it from here on: then it is not waited for, and that is an error.
        Ok(false) => synchronize(stream),
        Err(error) => Err(error),
    };
    unless_gone(stream.context(), waited)
}

/// Waits until a session has waited for what the stream held before; false where it gave up.
fn wait_until_settled(on: &RunStream) -> bool {
    loop {
        let captures = CAPTURES.lock();
        match captures.session_stream(&on.0) {
            None => return false,
            Some(captured) if captured.is_settled => return true,
            Some(_) => wait(captures),
        }
    }
}
