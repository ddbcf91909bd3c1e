//! The last nodes that the capture's own work has added to its streams. If other code enqueues work
//! on the session's streams, even through safe library calls, the work becomes part of the graph.
//! No caller has guaranteed that the memory used by this work stays valid. The capture fails if
//! this module detects work from other code.

use std::sync::Arc;

use pool_driver::cudarc::driver::CudaStream;

use crate::capture::error::CaptureError;
use crate::driver::{CaptureMode, CaptureObserver, StreamPosition};

/// The last nodes on each of a capture's streams.
#[derive(Debug)]
pub(crate) struct Frontiers {
    observer: CaptureObserver,
    mode: CaptureMode,
    streams: Vec<Frontier>,
}

#[derive(Debug, PartialEq, Eq)]
enum Frontier {
    /// The stream has not joined the capture yet.
    Outside,
    /// The stream has joined another capture.
    Elsewhere,
    /// The handles of the stream's last nodes, in ascending order.
    At(Vec<u64>),
    /// The capture is adding work to the stream, or might already have done so.
    Moving,
}

impl Frontiers {
    /// Creates the state for `streams` streams. Initially, the first stream is being captured and
    /// contains no nodes.
    pub(crate) fn new(streams: usize, observer: CaptureObserver, mode: CaptureMode) -> Self {
        let first = |stream| match stream {
            0 => Frontier::At(Vec::new()),
            _ => Frontier::Outside,
        };
        Self { observer, mode, streams: (0..streams).map(first).collect() }
    }

    /// Checks that a stream's last nodes match the nodes that the capture recorded, and returns
    /// their handles. If `begun` is `true`, the stream must already be part of the capture. Work on
    /// a stream outside the capture would run immediately instead of being captured.
    pub(crate) fn check(
        &self,
        streams: &[Arc<CudaStream>],
        stream: usize,
        begun: bool,
    ) -> Result<Vec<u64>, CaptureError> {
        let handle = || streams[stream].cu_stream().addr() as u64;
        match (&self.streams[stream], self.read(&streams[stream])?) {
            (Frontier::Outside, Frontier::Elsewhere) => {
                Err(CaptureError::AlreadyCapturing { stream: handle() })
            }
            (Frontier::Moving, _)
            | (_, Frontier::Elsewhere)
            | (Frontier::At(_), Frontier::Outside) => Err(self.invalidated(&streams[stream])),
            (_, Frontier::Outside) if begun => Err(self.invalidated(&streams[stream])),
            (expected, found) if *expected != found => {
                Err(CaptureError::ForeignWork { stream: handle() })
            }
            (_, Frontier::At(nodes)) => Ok(nodes),
            _ => Ok(Vec::new()),
        }
    }

    /// Records that the capture is about to add work to a stream.
    pub(crate) fn leave(&mut self, stream: usize) {
        self.streams[stream] = Frontier::Moving;
    }

    /// Records that the capture has added work to a stream. Returns the handles of the stream's
    /// last nodes.
    pub(crate) fn arrive(
        &mut self,
        streams: &[Arc<CudaStream>],
        stream: usize,
    ) -> Result<Vec<u64>, CaptureError> {
        let nodes = self.now(&streams[stream])?;
        self.streams[stream] = Frontier::At(nodes.clone());
        Ok(nodes)
    }

    /// Returns the handles of the last nodes that the capture itself added to the stream.
    pub(crate) fn at(&self, stream: usize) -> Vec<u64> {
        match &self.streams[stream] {
            Frontier::At(nodes) => nodes.clone(),
            _ => Vec::new(),
        }
    }

    /// Returns the handles of a captured stream's current last nodes.
    pub(crate) fn now(&self, stream: &CudaStream) -> Result<Vec<u64>, CaptureError> {
        match self.read(stream)? {
            Frontier::At(nodes) => Ok(nodes),
            _ => Err(self.invalidated(stream)),
        }
    }

    fn invalidated(&self, stream: &CudaStream) -> CaptureError {
        CaptureError::invalidated(stream.context(), self.mode)
    }

    fn read(&self, stream: &CudaStream) -> Result<Frontier, CaptureError> {
        Ok(match self.observer.look(stream)? {
            StreamPosition::Outside => Frontier::Outside,
            StreamPosition::Elsewhere => Frontier::Elsewhere,
            StreamPosition::Behind(mut nodes) => {
                nodes.sort_unstable();
                Frontier::At(nodes)
            }
        })
    }
}
