//! The last nodes of a capture's streams, as the capture itself left them. Any other work on these
//! streams, even from safe calls of other libraries, becomes a node of the graph, and no caller
//! promises that the memory of that node stays valid. This module detects such work, and the
//! capture is refused.

use std::sync::Arc;

use pool_driver::cudarc::driver::CudaStream;

use crate::capture::error::CaptureError;
use crate::driver::{CaptureMode, CaptureObserver, StreamPosition};

/// The last nodes of each stream in one capture.
#[derive(Debug)]
pub(crate) struct Frontiers {
    observer: CaptureObserver,
    mode: CaptureMode,
    streams: Vec<Frontier>,
}

#[derive(Debug, PartialEq, Eq)]
enum Frontier {
    /// The stream does not take part in the capture yet.
    Outside,
    /// The stream is in another capture.
    Elsewhere,
    /// The stream's last nodes, sorted by handle.
    At(Vec<u64>),
    /// Work is being put on the stream, or was put on it with an unknown result.
    Moving,
}

impl Frontiers {
    /// Creates the state of `streams` streams. The first stream is being captured and is empty.
    pub(crate) fn new(streams: usize, observer: CaptureObserver, mode: CaptureMode) -> Self {
        let first = |stream| match stream {
            0 => Frontier::At(Vec::new()),
            _ => Frontier::Outside,
        };
        Self { observer, mode, streams: (0..streams).map(first).collect() }
    }

    /// Checks that a stream still ends where it was left, and returns its last nodes. A stream that
    /// has begun according to the account must take part in the capture. If the driver had failed
    /// to bring it into the capture, work on the stream would run immediately.
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

    /// Records that work is about to be put on a stream.
    pub(crate) fn leave(&mut self, stream: usize) {
        self.streams[stream] = Frontier::Moving;
    }

    /// Records that work was put on a stream. Returns the stream's last nodes.
    pub(crate) fn arrive(
        &mut self,
        streams: &[Arc<CudaStream>],
        stream: usize,
    ) -> Result<Vec<u64>, CaptureError> {
        let nodes = self.now(&streams[stream])?;
        self.streams[stream] = Frontier::At(nodes.clone());
        Ok(nodes)
    }

    /// Returns the stream's last nodes when the capture left the stream.
    pub(crate) fn at(&self, stream: usize) -> Vec<u64> {
        match &self.streams[stream] {
            Frontier::At(nodes) => nodes.clone(),
            _ => Vec::new(),
        }
    }

    /// Returns the current last nodes of a stream of the capture.
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
