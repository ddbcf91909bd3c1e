//! The users of a block on streams other than the pool's, with the data needed to wait for them
//! later.

use std::sync::Arc;

use cudarc::driver::{CudaContext, CudaStream};
use pool_driver::default_stream::{is_default, is_per_thread};
use pool_driver::guard_event::UseEnd;

use crate::stream::announced_streams::{announce, find_announced};

/// A user of a block.
#[derive(Clone, Debug)]
pub(crate) enum BlockUser {
    /// A stream, which this value keeps alive.
    Stream(Arc<CudaStream>),
    /// A stream that cannot be kept alive.
    UnknownStream(UnknownStream),
    /// An unknown stream of another, unknown device: the host waits for all other devices.
    UnknownDevice,
}

/// The data about a stream that cannot be kept alive.
#[derive(Clone, Debug)]
pub(crate) struct UnknownStream {
    pub(crate) context: Arc<CudaContext>,
    /// The stream's handle, for use in error messages. The stream may already be destroyed.
    pub(crate) handle: u64,
    /// The event that marks the end of the use. If there is none, or if it was never recorded
    /// because the guard was forgotten, the host waits for the whole context.
    pub(crate) end: Option<UseEnd>,
}

impl UnknownStream {
    fn new(stream: &CudaStream) -> Self {
        let (context, handle) = (Arc::clone(stream.context()), stream.cu_stream().addr() as u64);
        Self { context, handle, end: None }
    }
}

impl BlockUser {
    /// Creates the user for a borrowed stream.
    pub(crate) fn of_borrowed(stream: &CudaStream) -> Self {
        match find_announced(stream) {
            Some(stream) if !is_per_thread(&stream) => Self::Stream(stream),
            _ => Self::UnknownStream(UnknownStream::new(stream)),
        }
    }

    /// Creates the user for a shared stream, and announces the stream.
    pub(crate) fn of_shared(stream: &Arc<CudaStream>) -> Self {
        if is_per_thread(stream) {
            // On another thread, this handle refers to a different stream, and the pool may be on
            // another thread when it waits.
            return Self::UnknownStream(UnknownStream::new(stream));
        }
        announce(stream);
        Self::Stream(Arc::clone(stream))
    }

    /// Returns `true` if both users are the same stream, which orders its own work.
    pub(crate) fn is_same_stream(&self, other: &Self) -> bool {
        matches!((self, other), (Self::Stream(one), Self::Stream(two)) if one == two)
    }

    /// Returns `true` if waiting for one user includes waiting for the other. Two unknown streams
    /// of one context may be different streams: the host waits for them together, but they are not
    /// ordered with each other.
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

    /// Returns the address of the user's stream if this user seems to hold the only reference to
    /// it. The check is approximate.
    ///
    /// For a pool, a stream has ended once the pool holds the only reference to it and no `Weak`
    /// can become another. The check comes *before* the wait for the stream. Other threads may
    /// launch work on the stream and drop their reference at any time. Their steps (launch, drop)
    /// and the pool's steps (check, record an event) interleave as follows:
    ///
    /// - *check before drop*: the pool keeps the stream, whether the launch came before the event
    ///   or after it, and waits for the stream again at the block's next use;
    /// - *check after drop*: the launch came before the check. It therefore also came before the
    ///   event, which is recorded after the check.
    ///
    /// If the check came after the event, the pool would never wait for a launch between the two.
    ///
    /// Default streams never end, because each request for one returns another reference.
    pub(crate) fn seems_alone(&self) -> Option<*const CudaStream> {
        match self {
            Self::Stream(stream) if Arc::strong_count(stream) == 1 && !is_default(stream) => {
                Some(Arc::as_ptr(stream))
            }
            _ => None,
        }
    }
}
