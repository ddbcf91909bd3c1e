//! The captures in progress in this process with their streams, and the arenas of sessions and
//! graphs. Work put on a stream while a session captures it would become a part of that graph.
//!
//! The lock is held only to search and move: capacity is reserved before, and removed entries are
//! dropped after. A launch and a drop need no capacity.

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

/// Notifies waiting threads that a stream is idle, or no longer in use.
static CHANGED: Condvar = Condvar::new();

/// A unique key of a stream: its handle and context.
type Key = (usize, usize);

/// The streams and arenas of sessions and graphs. Its lock is held only to search or change, and
/// for no call of the driver.
struct Registry {
    /// The streams that sessions have reserved for a capture.
    session_streams: Vec<SessionStream>,
    /// The streams that graphs run on, in order.
    graph_streams: Vec<GraphStream>,
    /// The starts of the arenas that a session or a graph has.
    arenas: Vec<u64>,
}

/// A stream that a session has reserved for a capture.
#[derive(Clone, Copy)]
struct SessionStream {
    stream: Key,
    /// `true` once the stream's earlier work is done.
    is_settled: bool,
}

/// A stream that graphs run on.
#[derive(Clone, Copy)]
struct GraphStream {
    stream: Key,
    /// The number of sessions with graphs that run on it.
    setups: usize,
    /// The number of calls of the driver that graphs are making on it.
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

/// A stream that graphs may run on, until it is dropped: its use allocates nothing.
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

/// Locks the registry, with reserved capacity in a list.
fn with_room<T>(
    of: impl Fn(&mut Registry) -> &mut Vec<T>,
    more: usize,
) -> Result<MutexGuard<'static, Registry>, NoHostMemory> {
    lock_reserved(|| CAPTURES.lock(), of, more)
}

/// Waits for a change. The thread's data for a wait is allocated without the lock, and the registry
/// may have changed by then, too.
fn wait(mut captures: MutexGuard<'_, Registry>) {
    if is_ready_to_wait() {
        CHANGED.wait(&mut captures);
    } else {
        drop(captures);
        get_ready_to_wait();
    }
}

/// Streams that a session captures, until this is dropped.
#[derive(Debug)]
pub(crate) struct CapturedStreams {
    keys: Vec<Key>,
    /// Prevents eager pools from waiting for a whole context.
    _under_way: CaptureUnderWay,
}

impl CapturedStreams {
    /// Reserves all of them, if no other session captures them and no graph uses them.
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

    /// Waits until their work is done; they must not be captured explicitly.
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
    /// Begins a call on a stream. Returns `None` if a session captures it.
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

/// Claims an arena for one session or graph. Returns `false` if it is claimed.
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

/// Waits for all work of a stream, not for work that is being captured on it.
///
/// # Errors
///
/// [`CudaError::Capturing`] if the stream is captured explicitly, and the driver's error code: then
/// work may still run there.
pub(crate) fn come_to_rest(runs_on: &RunStream, stream: &CudaStream) -> Result<(), CudaError> {
    // In each iteration, a session had the stream, and has released it without waiting for it: it
    // was refused, and does not return.
    loop {
        if let Some(_in_use) = StreamUse::begin(runs_on) {
            return rest(stream);
        }
        if wait_until_settled(runs_on) {
            return Ok(());
        }
    }
}

/// Waits for a stream that no session captures. If its context is destroyed, which a second call
/// confirms, no work runs there any more. After any other error work may run.
fn rest(stream: &CudaStream) -> Result<(), CudaError> {
    let is_captured = bind(stream.context()).and_then(|()| is_capturing(stream));
    let waited = match is_captured {
        Ok(true) => return Err(CudaError::Capturing { operation: "wait for the runs of a graph" }),
        // Other code may capture it from here on: then the wait fails.
        Ok(false) => synchronize(stream),
        Err(error) => Err(error),
    };
    unless_gone(stream.context(), waited)
}

/// Waits until a session has waited for the stream's earlier work. Returns `false` if it gave up.
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
