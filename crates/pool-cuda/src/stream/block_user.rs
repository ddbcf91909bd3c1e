//! Represents a block's users other than the pool's own stream. Each user stores the data that the
//! pool needs to wait for that user later.

use std::sync::Arc;

use cudarc::driver::{CudaContext, CudaStream};
use pool_driver::default_stream::{is_default, is_per_thread};
use pool_driver::guard_event::UseEnd;

use crate::stream::registered_streams::{find_registered, register_stream};

/// A stream or device that uses one of the pool's blocks.
#[derive(Clone, Debug)]
pub(crate) enum BlockUser {
    /// A stream that this value keeps alive.
    Stream(Arc<CudaStream>),
    /// A stream that the pool cannot keep alive.
    UnknownStream(UnknownStream),
    /// A stream on another device. The pool can identify neither the stream nor the device, so the
    /// host waits for all work on all devices except the pool's own.
    UnknownDevice,
}

/// The data about a stream that the pool cannot keep alive.
#[derive(Clone, Debug)]
pub(crate) struct UnknownStream {
    pub(crate) context: Arc<CudaContext>,
    /// The stream's handle, printed only in error messages. The stream might already have been
    /// destroyed.
    pub(crate) handle: u64,
    /// The event recorded after the stream's work, or `None` if there is no event. The host waits
    /// for all work in the context if there is no event, or if a forgotten guard never recorded the
    /// event.
    pub(crate) end: Option<UseEnd>,
}

impl UnknownStream {
    fn new(stream: &CudaStream) -> Self {
        let (context, handle) = (Arc::clone(stream.context()), stream.cu_stream().addr() as u64);
        Self { context, handle, end: None }
    }
}

impl BlockUser {
    /// Creates a user for a stream passed by reference.
    pub(crate) fn of_borrowed(stream: &CudaStream) -> Self {
        match find_registered(stream) {
            Some(stream) if !is_per_thread(&stream) => Self::Stream(stream),
            _ => Self::UnknownStream(UnknownStream::new(stream)),
        }
    }

    /// Registers a stream that was passed as an `Arc`, and creates a user for it.
    pub(crate) fn of_shared(stream: &Arc<CudaStream>) -> Self {
        if is_per_thread(stream) {
            // The pool might wait for this user on another thread. The same handle may refer to a
            // different stream on the other thread.
            return Self::UnknownStream(UnknownStream::new(stream));
        }
        register_stream(stream);
        Self::Stream(Arc::clone(stream))
    }

    /// Returns `true` if both users use the same stream. Work on a single stream always runs in
    /// order.
    pub(crate) fn is_same_stream(&self, other: &Self) -> bool {
        matches!((self, other), (Self::Stream(one), Self::Stream(two)) if one == two)
    }

    /// Returns `true` if waiting for either user also waits for the other. Two unknown streams
    /// might be different streams even if they belong to the same context. One wait by the host
    /// covers both streams, even though their work is not ordered.
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

    /// Returns the address of the user's stream if the user is probably the stream's only owner.
    /// The check is only approximate.
    ///
    /// A pool assumes that a stream will receive no further work if the pool holds its only strong
    /// reference and no weak reference can be upgraded. The pool must count the references *before*
    /// it waits for the stream. Another thread may launch work on the stream and drop its reference
    /// at any time. The pool's check can run before or after the other thread drops its reference:
    ///
    /// - *The check runs before the drop:* the pool keeps the stream alive, and waits for it again
    ///   when the block is next used.
    /// - *The check runs after the drop:* it then also runs after the launch, because the launch
    ///   comes before the drop. The pool records its event after the check, so the event covers the
    ///   launch.
    ///
    /// If the pool recorded the event before the check, it would never wait for a launch made
    /// between the two.
    ///
    /// The check never succeeds for a default stream, because each request for a default stream
    /// returns an additional reference.
    pub(crate) fn seems_alone(&self) -> Option<*const CudaStream> {
        match self {
            Self::Stream(stream) if Arc::strong_count(stream) == 1 && !is_default(stream) => {
                Some(Arc::as_ptr(stream))
            }
            _ => None,
        }
    }
}
