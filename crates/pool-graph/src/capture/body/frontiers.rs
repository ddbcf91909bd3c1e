//! The last nodes of a capture's streams, as the capture itself left them. Any other work on one of
//! them, including safe calls of other libraries, becomes a node of the graph, and uses memory
//! without a promise. The capture detects it, and is refused.

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
    /// The stream takes no part yet.
    Outside,
    /// The stream is in another capture.
    Elsewhere,
    /// The stream is after these nodes, sorted by handle.
    At(Vec<u64>),
    /// Work is being put on it, or was, with an unknown result.
    Moving,
}

impl Frontiers {
    /// Creates the state of `streams` streams. The first is captured and empty.
    pub(crate) fn new(streams: usize, observer: CaptureObserver, mode: CaptureMode) -> Self {
        let first = |stream| match stream {
            0 => Frontier::At(Vec::new()),
            _ => Frontier::Outside,
        };
        Self { observer, mode, streams: (0..streams).map(first).collect() }
    }

    /// Checks that a stream is where it was left, and returns its last nodes. A stream that has
    /// begun, by the account, must take part: if the driver failed to bring it into the capture,
    /// work on it would run at once.
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

    /// Records that the work was put on a stream. Returns the stream's last nodes.
    pub(crate) fn arrive(
        &mut self,
        streams: &[Arc<CudaStream>],
        stream: usize,
    ) -> Result<Vec<u64>, CaptureError> {
        let nodes = self.now(&streams[stream])?;
        self.streams[stream] = Frontier::At(nodes.clone());
        Ok(nodes)
    }

    /// Returns the nodes where a stream was left.
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
