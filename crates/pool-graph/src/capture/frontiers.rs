//! Where the streams of a capture stand, as the capture itself left them. Whatever else is put on one
//! of them, by safe calls of other libraries too, becomes a node of the graph, and nobody has promised
//! anything about the memory that it names: the capture notices it, and is refused.

use std::sync::Arc;

use pool_cuda::cudarc::driver::CudaStream;

use super::driver;
use super::error::CaptureError;

/// The nodes that each stream has come to.
#[derive(Debug)]
pub(super) struct Frontiers(Vec<Frontier>);

#[derive(Debug, PartialEq, Eq)]
enum Frontier {
    /// The stream takes no part yet.
    Outside,
    /// Handles of nodes, in order.
    At(Vec<u64>),
    /// Something is being put on it, or was, and how that ended is not known.
    Moving,
}

impl Frontiers {
    /// Of so many streams, the first of which is captured and empty.
    pub(super) fn new(streams: usize) -> Self {
        let first = |stream| match stream {
            0 => Frontier::At(Vec::new()),
            _ => Frontier::Outside,
        };
        Self((0..streams).map(first).collect())
    }

    /// Whether a stream stands where it was left; the nodes there.
    pub(super) fn check(
        &self,
        streams: &[Arc<CudaStream>],
        stream: usize,
    ) -> Result<Vec<u64>, CaptureError> {
        let handle = || streams[stream].cu_stream().addr() as u64;
        match (&self.0[stream], Frontier::read(&streams[stream])?) {
            (Frontier::Moving, _) | (Frontier::At(_), Frontier::Outside) => {
                Err(CaptureError::Spoiled)
            }
            (expected, found) if *expected != found => {
                Err(CaptureError::ForeignWork { stream: handle() })
            }
            (_, Frontier::At(nodes)) => Ok(nodes),
            _ => Ok(Vec::new()),
        }
    }

    /// Something is about to be put on a stream.
    pub(super) fn leave(&mut self, stream: usize) {
        self.0[stream] = Frontier::Moving;
    }

    /// It has been; the nodes there now.
    pub(super) fn arrive(
        &mut self,
        streams: &[Arc<CudaStream>],
        stream: usize,
    ) -> Result<Vec<u64>, CaptureError> {
        let Frontier::At(nodes) = Frontier::read(&streams[stream])? else {
            return Err(CaptureError::Spoiled);
        };
        self.0[stream] = Frontier::At(nodes.clone());
        Ok(nodes)
    }
}

impl Frontier {
    fn read(stream: &CudaStream) -> Result<Self, CaptureError> {
        Ok(match driver::frontier(stream)? {
            None => Self::Outside,
            Some(mut nodes) => {
                nodes.sort_unstable();
                Self::At(nodes)
            }
        })
    }
}
