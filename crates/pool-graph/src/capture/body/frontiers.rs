//! Where the streams of a capture stand, as the capture itself left them. Whatever else is put on one
//! of them, by safe calls of other libraries too, becomes a node of the graph, and nobody has promised
//! anything about the memory that it names: the capture notices it, and is refused.

use std::sync::Arc;

use pool_driver::cudarc::driver::CudaStream;

use crate::capture::error::CaptureError;
use crate::driver::{CaptureMode, CaptureObserver, StreamPosition};

/// The nodes that each stream has come to, in one capture.
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
    /// The stream is behind these nodes, named by their handles, in order.
    At(Vec<u64>),
    /// Something is being put on it, or was, and how that ended is not known.
    Moving,
}

impl Frontiers {
    /// The frontiers of so many streams, the first of which is captured and empty.
    pub(crate) fn new(streams: usize, observer: CaptureObserver, mode: CaptureMode) -> Self {
        let first = |stream| match stream {
            0 => Frontier::At(Vec::new()),
            _ => Frontier::Outside,
        };
        Self { observer, mode, streams: (0..streams).map(first).collect() }
    }

    /// Whether a stream stands where it was left; the nodes there. One that has begun, as far as the account says,
    /// takes part: where the driver failed to bring it there, what is put on it would run at once.
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

    /// Notes that something is about to be put on a stream.
    pub(crate) fn leave(&mut self, stream: usize) {
        self.streams[stream] = Frontier::Moving;
    }

    /// Notes that what was to be put on a stream is there; the nodes that the stream has come to.
    pub(crate) fn arrive(
        &mut self,
        streams: &[Arc<CudaStream>],
        stream: usize,
    ) -> Result<Vec<u64>, CaptureError> {
        let nodes = self.now(&streams[stream])?;
        self.streams[stream] = Frontier::At(nodes.clone());
        Ok(nodes)
    }

    /// Where a stream was left.
    pub(crate) fn at(&self, stream: usize) -> Vec<u64> {
        match &self.streams[stream] {
            Frontier::At(nodes) => nodes.clone(),
            _ => Vec::new(),
        }
    }

    /// Where a stream of the capture stands, however it came there.
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
