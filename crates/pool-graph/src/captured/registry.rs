//! The captures under way in this process: which streams they have, and what is to be destroyed once
//! they are over. A graph that is destroyed during a capture may spoil it, whichever thread does it.

use std::sync::Arc;

use parking_lot::Mutex;
use pool_cuda::cudarc::driver::CudaStream;

use super::handles::{Executable, Graph, HostBuffer};
use crate::capture::Setting;
use crate::capture::driver::{bind, is_capturing, wait_for};

static CAPTURES: Mutex<Captures> =
    Mutex::new(Captures { streams: Vec::new(), arenas: Vec::new(), deferred: Vec::new() });

/// Held for a look or a change, and for no call of the driver.
struct Captures {
    /// The streams that are captured, by handle and context.
    streams: Vec<(usize, usize)>,
    /// Where the arenas begin that a session or a graph has.
    arenas: Vec<u64>,
    deferred: Vec<Remains>,
}

/// What is left of a dropped graph, or of one whose parameters were replaced: destroyed in this order.
#[derive(Debug)]
pub(super) struct Remains {
    pub(super) executable: Option<Executable>,
    pub(super) graph: Graph,
    pub(super) host: Vec<HostBuffer>,
    pub(super) setting: Arc<Setting>,
}

fn key(stream: &CudaStream) -> (usize, usize) {
    (stream.cu_stream().addr(), stream.context().cu_ctx().addr())
}

/// Streams that are captured by a session, until it is dropped.
#[derive(Debug)]
pub(crate) struct Capturing(Vec<(usize, usize)>);

impl Capturing {
    /// All of them, or the handle of the first that is captured already.
    pub(crate) fn enter<'s>(
        streams: impl Iterator<Item = &'s Arc<CudaStream>>,
    ) -> Result<Self, u64> {
        let keys: Vec<(usize, usize)> = streams.map(|stream| key(stream)).collect();
        let mut captures = CAPTURES.lock();
        if let Some(taken) = keys.iter().find(|key| captures.streams.contains(key)) {
            return Err(taken.0 as u64);
        }
        captures.streams.extend(&keys);
        Ok(Self(keys))
    }
}

impl Drop for Capturing {
    fn drop(&mut self) {
        let due = {
            let mut captures = CAPTURES.lock();
            captures.streams.retain(|key| !self.0.contains(key));
            let over = captures.streams.is_empty();
            if over { std::mem::take(&mut captures.deferred) } else { Vec::new() }
        };
        due.into_iter().for_each(Remains::destroy);
    }
}

/// Whether a session captures this stream.
pub(super) fn is_captured(stream: &CudaStream) -> bool {
    CAPTURES.lock().streams.contains(&key(stream))
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
        let stream = self.setting.stream();
        let _ = bind(stream.context());
        // A stream that is captured cannot be waited for, and holds no run: sessions wait before they
        // begin.
        let captured = is_captured(stream) || is_capturing(stream).unwrap_or(false);
        if !captured {
            let _ = wait_for(stream);
        }
        let now = {
            let mut captures = CAPTURES.lock();
            if captures.streams.is_empty() && !captured {
                Some(self)
            } else {
                captures.deferred.push(self);
                None
            }
        };
        if let Some(remains) = now {
            remains.destroy();
        }
    }

    fn destroy(self) {
        let Self { executable, graph, host, setting } = self;
        let _ = bind(setting.stream().context());
        let _ = wait_for(setting.stream());
        drop(executable);
        drop(graph);
        drop(host);
        drop(setting);
    }
}
