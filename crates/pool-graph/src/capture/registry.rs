//! The registry of all captures in progress in this process. The registry also lists the streams on
//! which graphs run and the arenas that sessions and graphs have claimed. Work that is enqueued on
//! a captured stream becomes part of the captured graph.
//!
//! The registry's lock is held only while its lists are searched or changed. Capacity is reserved
//! before the lock is acquired, and removed entries are dropped after the lock is released.
//! Launching or dropping a graph never makes the registry's lists grow.

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

/// The condition variable that wakes waiting threads when a stream's previously enqueued work
/// completes or when a stream is no longer in use.
static CHANGED: Condvar = Condvar::new();

/// A unique key for a stream: its handle and its context.
type Key = (usize, usize);

/// The lists of reserved streams, graph streams, and claimed arenas. The lock is held only while
/// the lists are searched or changed, never during a driver call.
struct Registry {
    /// The streams that sessions have reserved for captures.
    session_streams: Vec<SessionStream>,
    /// The streams on which graphs run, sorted by key.
    graph_streams: Vec<GraphStream>,
    /// The start addresses of all arenas that sessions or graphs have claimed.
    arenas: Vec<u64>,
}

/// A stream that a session has reserved for a capture.
#[derive(Clone, Copy)]
struct SessionStream {
    stream: Key,
    /// `true` once all work previously enqueued on the stream has completed.
    is_settled: bool,
}

/// A stream on which graphs run.
#[derive(Clone, Copy)]
struct GraphStream {
    stream: Key,
    /// The number of sessions with graphs that run on this stream.
    setups: usize,
    /// The number of driver calls that graphs are currently making on this stream.
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

/// The registration of a stream on which graphs may run. Dropping this value ends the registration.
/// While the registration exists, using the stream allocates no memory.
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

/// Reserves capacity in one of the registry's lists and locks the registry.
fn with_room<T>(
    of: impl Fn(&mut Registry) -> &mut Vec<T>,
    more: usize,
) -> Result<MutexGuard<'static, Registry>, NoHostMemory> {
    lock_reserved(|| CAPTURES.lock(), of, more)
}

/// Waits until the registry changes. If the thread has never waited before, this function releases
/// the lock, prepares the thread to wait, and returns. The registry might have changed by the time
/// this function returns.
fn wait(mut captures: MutexGuard<'_, Registry>) {
    if is_ready_to_wait() {
        CHANGED.wait(&mut captures);
    } else {
        drop(captures);
        get_ready_to_wait();
    }
}

/// The streams that a session captures. Dropping this value marks the streams as no longer
/// captured.
#[derive(Debug)]
pub(crate) struct CapturedStreams {
    keys: Vec<Key>,
    /// A guard that prevents eager pools from waiting for all the work in a context to finish.
    _under_way: CaptureUnderWay,
}

impl CapturedStreams {
    /// Reserves all streams and waits until no graph is using any of them. Returns an error if
    /// another session is capturing one of the streams.
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

    /// Waits until all work on the streams has completed. Returns an error if one of the streams is
    /// being captured outside a session.
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

/// A driver call in progress on a stream. No session can capture the stream until this value is
/// dropped.
#[derive(Debug)]
#[must_use = "a session may capture the stream as soon as this is dropped"]
pub(crate) struct StreamUse(Key);

impl StreamUse {
    /// Registers the start of a driver call on a stream. Returns `None` if a session is capturing
    /// the stream.
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

/// Claims an arena for a session or a graph. Returns `false` if the arena has already been claimed.
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

/// Waits until all work on a stream has completed, except for work that is being captured.
///
/// # Errors
///
/// Returns [`CudaError::Capturing`] if the stream is being captured outside a session, or the
/// driver's error. After an error, work might still be running on the stream.
pub(crate) fn come_to_rest(runs_on: &RunStream, stream: &CudaStream) -> Result<(), CudaError> {
    // The loop repeats only if a session that had reserved the stream failed before its capture
    // began and did not wait for the stream's work. A session that has failed does not reserve the
    // stream again, so the loop ends.
    loop {
        if let Some(_in_use) = StreamUse::begin(runs_on) {
            return rest(stream);
        }
        if wait_until_settled(runs_on) {
            return Ok(());
        }
    }
}

/// Waits for the work on a stream to finish. A session must not be capturing the stream. If the
/// context has been destroyed (a second driver call confirms this), the stream no longer runs any
/// work. After any other error, work might still be running on the stream.
fn rest(stream: &CudaStream) -> Result<(), CudaError> {
    let is_captured = bind(stream.context()).and_then(|()| is_capturing(stream));
    let waited = match is_captured {
        Ok(true) => return Err(CudaError::Capturing { operation: "wait for the runs of a graph" }),
        // If other code begins a capture of the stream after this point, `synchronize` fails.
        Ok(false) => synchronize(stream),
        Err(error) => Err(error),
    };
    unless_gone(stream.context(), waited)
}

/// Blocks until a session has finished waiting for the work previously enqueued on the stream.
/// Returns `false` if the session released the stream without waiting for its work to complete.
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
