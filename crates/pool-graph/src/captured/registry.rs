//! The captures under way in this process: which streams they have, and what is to be destroyed once
//! they are over. A graph that is destroyed during a capture may spoil it, whichever thread does it; and
//! what is put on a stream while a session captures it would become a part of that graph.

use std::sync::Arc;

use parking_lot::{Condvar, Mutex};
use pool_cuda::cudarc::driver::CudaStream;
use pool_cuda::{CudaError, DriverCode, is_capturing};

use super::handles::{Executable, Graph, HostBuffer};
use super::sharing::Shares;
use super::staged::Staged;
use crate::capture::driver::{bind, wait_for};
use crate::capture::{CaptureError, Setting};

static CAPTURES: Mutex<Captures> = Mutex::new(Captures {
    streams: Vec::new(),
    settled: Vec::new(),
    in_use: Vec::new(),
    arenas: Vec::new(),
    deferred: Vec::new(),
});

/// A stream has come to rest, or is in use no more.
static CHANGED: Condvar = Condvar::new();

/// What tells a stream from every other one: its handle and context.
type Key = (usize, usize);

/// Held for a look or a change, and for no call of the driver.
struct Captures {
    /// The streams that sessions have for a capture.
    streams: Vec<Key>,
    /// Those of them whose work from before is done.
    settled: Vec<Key>,
    /// The streams that a graph is calling the driver for, once for each call.
    in_use: Vec<Key>,
    /// Where the arenas begin that a session or a graph has.
    arenas: Vec<u64>,
    deferred: Vec<Remains>,
}

/// What is left of a dropped graph, or of one whose parameters were replaced: destroyed in this order. Only what the
/// driver destroys waits for the captures of others; memory and blocks are given back as soon as nothing runs.
#[derive(Debug)]
pub(super) struct Remains {
    pub(super) executable: Option<Executable>,
    pub(super) graph: Graph,
    pub(super) host: Vec<HostBuffer>,
    pub(super) staged: Staged,
    pub(super) shares: Shares,
    /// None once nothing runs any more.
    pub(super) setting: Option<Arc<Setting>>,
    /// They outlive what ran on them.
    pub(super) streams: Arc<[Arc<CudaStream>]>,
}

fn key(stream: &CudaStream) -> Key {
    (stream.cu_stream().addr(), stream.context().cu_ctx().addr())
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
        CAPTURES.lock().settled.extend(&capturing.0);
        CHANGED.notify_all();
        Ok(capturing)
    }

    fn reserve(keys: Vec<Key>) -> Result<Self, CaptureError> {
        let mut captures = CAPTURES.lock();
        loop {
            if let Some(taken) = keys.iter().find(|key| captures.streams.contains(key)) {
                return Err(CaptureError::AlreadyCapturing { stream: taken.0 as u64 });
            }
            if !keys.iter().any(|key| captures.in_use.contains(key)) {
                captures.streams.extend(&keys);
                return Ok(Self(keys));
            }
            CHANGED.wait(&mut captures);
        }
    }
}

impl Drop for Capturing {
    fn drop(&mut self) {
        {
            let mut captures = CAPTURES.lock();
            captures.streams.retain(|key| !self.0.contains(key));
            captures.settled.retain(|key| !self.0.contains(key));
        }
        CHANGED.notify_all();
        Remains::end_deferred();
    }
}

/// A call of the driver on a stream, until it is dropped: no session captures the stream meanwhile.
#[derive(Debug)]
#[must_use = "a session may capture the stream as soon as this is dropped"]
pub(super) struct StreamUse(Key);

impl StreamUse {
    /// `None` where a session captures it.
    pub(super) fn begin(stream: &CudaStream) -> Option<Self> {
        let key = key(stream);
        let mut captures = CAPTURES.lock();
        if captures.streams.contains(&key) {
            return None;
        }
        captures.in_use.push(key);
        Some(Self(key))
    }
}

impl Drop for StreamUse {
    fn drop(&mut self) {
        {
            let mut captures = CAPTURES.lock();
            let place = captures.in_use.iter().position(|key| *key == self.0);
            place.map(|place| captures.in_use.swap_remove(place));
        }
        CHANGED.notify_all();
    }
}

/// Takes an arena for one session or graph; false where it is taken.
pub(crate) fn take_arena(address: u64) -> bool {
    let mut captures = CAPTURES.lock();
    let free = !captures.arenas.contains(&address);
    if free {
        captures.arenas.push(address);
    }
    free
}

pub(super) fn give_arena_back(address: u64) {
    CAPTURES.lock().arenas.retain(|&taken| taken != address);
}

impl Remains {
    /// Destroys them, now or when the last capture of the process ends. What of the graph still runs is
    /// waited for first: its state goes after it.
    pub(super) fn end(self) {
        if let Some(kept) = self.destroy() {
            CAPTURES.lock().deferred.push(kept);
        }
        Self::end_deferred();
    }

    /// Destroys those that had to wait, as far as that may be now.
    fn end_deferred() {
        let due = {
            let mut captures = CAPTURES.lock();
            if !captures.streams.is_empty() {
                return;
            }
            std::mem::take(&mut captures.deferred)
        };
        let kept: Vec<Self> = due.into_iter().filter_map(Self::destroy).collect();
        CAPTURES.lock().deferred.extend(kept);
    }

    /// Destroys them, unless a capture is under way: then they only give back what others may want.
    fn destroy(mut self) -> Option<Self> {
        if self.setting.as_ref().is_some_and(|setting| !come_to_rest(setting.stream())) {
            return Some(self);
        }
        if !CAPTURES.lock().streams.is_empty() {
            let given_back = (std::mem::take(&mut self.shares), self.setting.take());
            drop(given_back);
            return Some(self);
        }
        let Self { executable, graph, host, staged, shares, setting, streams } = self;
        drop(executable);
        drop(graph);
        drop(host);
        drop(staged);
        drop(shares);
        drop(setting);
        drop(streams);
        None
    }
}

/// Waits for all that a stream holds, and for nothing that is being captured on it; false where that
/// cannot be, because somebody captures the stream by hand, or the driver does not answer.
pub(super) fn come_to_rest(stream: &CudaStream) -> bool {
    loop {
        if let Some(_in_use) = StreamUse::begin(stream) {
            return rest(stream);
        }
        if wait_until_settled(stream) {
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
fn wait_until_settled(stream: &CudaStream) -> bool {
    let key = key(stream);
    let mut captures = CAPTURES.lock();
    while captures.streams.contains(&key) && !captures.settled.contains(&key) {
        CHANGED.wait(&mut captures);
    }
    captures.settled.contains(&key)
}
