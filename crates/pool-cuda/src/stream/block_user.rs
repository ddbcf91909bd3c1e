//! Users of a block on other streams than the pool's: the data for a later wait.

use std::sync::Arc;

use cudarc::driver::{CudaContext, CudaStream};
use pool_driver::default_stream::{is_default, is_per_thread};
use pool_driver::guard_event::UseEnd;

use crate::stream::announced_streams::{announce, find_announced};

/// A user of a block.
#[derive(Clone, Debug)]
pub(crate) enum BlockUser {
    /// A stream, kept alive as long as this value.
    Stream(Arc<CudaStream>),
    /// A stream of a context, which cannot be kept alive.
    UnknownStream(UnknownStream),
    /// A stream of an unknown other device: the host waits for all of them.
    UnknownDevice,
}

/// The data of a stream that cannot be kept alive.
#[derive(Clone, Debug)]
pub(crate) struct UnknownStream {
    pub(crate) context: Arc<CudaContext>,
    /// The stream's handle, for an error that names it. The stream may be destroyed.
    pub(crate) handle: u64,
    /// The event that ends the use. If there is none, or it was not recorded because the guard was
    /// forgotten, the host waits for the whole context.
    pub(crate) end: Option<UseEnd>,
}

impl UnknownStream {
    fn new(stream: &CudaStream) -> Self {
        let (context, handle) = (Arc::clone(stream.context()), stream.cu_stream().addr() as u64);
        Self { context, handle, end: None }
    }
}

impl BlockUser {
    /// Returns the user for a borrowed stream.
    pub(crate) fn of_borrowed(stream: &CudaStream) -> Self {
        match find_announced(stream) {
            Some(stream) if !is_per_thread(&stream) => Self::Stream(stream),
            _ => Self::UnknownStream(UnknownStream::new(stream)),
        }
    }

    /// Returns the user for a shared stream, which gets announced.
    pub(crate) fn of_shared(stream: &Arc<CudaStream>) -> Self {
        if is_per_thread(stream) {
            // The handle is a different stream on another thread, and the pool may wait on another thread.
            return Self::UnknownStream(UnknownStream::new(stream));
        }
        announce(stream);
        Self::Stream(Arc::clone(stream))
    }

    /// Returns `true` if both users are one stream, which orders its own work.
    pub(crate) fn is_same_stream(&self, other: &Self) -> bool {
        matches!((self, other), (Self::Stream(one), Self::Stream(two)) if one == two)
    }

    /// Returns `true` if a wait for one user includes the other. Two unknown streams of one context
    /// may be different: the host waits for them together, and they are not ordered.
    pub(crate) fn is_waited_for_with(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::UnknownStream(one), Self::UnknownStream(two)) => {
                one.context.cu_ctx() == two.context.cu_ctx()
                    && one.end.is_none()
                    && two.end.is_none()
            }
            (Self::UnknownDevice, Self::UnknownDevice) => true,
            _ => self.is_same_stream(other),
        }
    }

    /// Returns the address of the user's stream if this seems to be its only reference; the check
    /// is approximate.
    ///
    /// A stream has ended for a pool when the pool has the only reference to it, and there is no
    /// `Weak` that could become another. The check comes *before* the wait for the stream. Other
    /// threads may launch there and drop the stream at any time. Their steps (launch, drop) and
    /// ours (check, record an event) interleave as follows:
    ///
    /// - *check before drop*: the stream is kept, whether the launch was before the event or not,
    ///   and is waited for again at the block's next use;
    /// - *check after drop*: the launch was before the check, and so before the event, which is
    ///   recorded after it.
    ///
    /// With the check after the event, a launch between the two would have no wait.
    ///
    /// Default streams never end: each request returns another reference.
    pub(crate) fn seems_alone(&self) -> Option<*const CudaStream> {
        match self {
            Self::Stream(stream) if Arc::strong_count(stream) == 1 && !is_default(stream) => {
                Some(Arc::as_ptr(stream))
            }
            _ => None,
        }
    }
}
