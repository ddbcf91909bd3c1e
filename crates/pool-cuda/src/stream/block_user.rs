//! Who uses a block on another stream than the pool's stream: what a pool keeps of that stream, to wait for it later.

use std::sync::Arc;

use cudarc::driver::{CudaContext, CudaStream};
use pool_driver::default_stream::{is_default, is_per_thread};
use pool_driver::guard_event::UseEnd;

use crate::stream::announced_streams::{announce, find_announced};

/// Who uses a block.
#[derive(Clone, Debug)]
pub(crate) enum BlockUser {
    /// A stream, kept alive as long as this value.
    Stream(Arc<CudaStream>),
    /// A stream of a context that cannot be kept alive.
    UnknownStream(UnknownStream),
    /// A stream of another device, not known of which one: the host waits for all of them.
    UnknownDevice,
}

/// What is kept of a stream that cannot be kept alive.
#[derive(Clone, Debug)]
pub(crate) struct UnknownStream {
    pub(crate) context: Arc<CudaContext>,
    /// The stream's handle, for an error that names it. The stream may be gone.
    pub(crate) handle: u64,
    /// The event that ends the use. Where there is none, or where it was not recorded because the guard was forgotten, the
    /// host waits for the whole context.
    pub(crate) end: Option<UseEnd>,
}

impl UnknownStream {
    fn new(stream: &CudaStream) -> Self {
        let (context, handle) = (Arc::clone(stream.context()), stream.cu_stream().addr() as u64);
        Self { context, handle, end: None }
    }
}

impl BlockUser {
    /// What can be kept of a stream that is borrowed.
    pub(crate) fn of_borrowed(stream: &CudaStream) -> Self {
        match find_announced(stream) {
            Some(stream) if !is_per_thread(&stream) => Self::Stream(stream),
            _ => Self::UnknownStream(UnknownStream::new(stream)),
        }
    }

    /// What is kept of a stream that is shared. The stream is announced.
    pub(crate) fn of_shared(stream: &Arc<CudaStream>) -> Self {
        if is_per_thread(stream) {
            // It is another stream on another thread, where the pool may be when it waits.
            return Self::UnknownStream(UnknownStream::new(stream));
        }
        announce(stream);
        Self::Stream(Arc::clone(stream))
    }

    /// Whether both users are one stream, which orders its own work.
    pub(crate) fn is_same_stream(&self, other: &Self) -> bool {
        matches!((self, other), (Self::Stream(one), Self::Stream(two)) if one == two)
    }

    /// Whether waiting for one user is waiting for the other. Two unknown streams of one context may be two: the host
    /// waits for them together, and they are not ordered.
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

    /// Where the user's stream lies, if nobody else has that stream, as far as can be told in passing.
    ///
    /// A stream has ended for a pool when the pool has the only reference to it, and no `Weak` is there that
    /// could become another. That is asked *before* the stream is waited for. Other threads may launch there
    /// and let the stream go at any time, and their steps (launch, let go) and ours (ask, record
    /// an event) mix as follows:
    ///
    /// - *asked before it was let go*: it is kept, whether the launch came before the event or not, and is
    ///   waited for again when the block is next used;
    /// - *asked after it was let go*: so the launch came before, and the event, recorded after the question,
    ///   comes behind it.
    ///
    /// The other way round, a launch between event and question would be waited for by nobody.
    ///
    /// Default streams never end: everybody who asks gets another reference.
    pub(crate) fn seems_alone(&self) -> Option<*const CudaStream> {
        match self {
            Self::Stream(stream) if Arc::strong_count(stream) == 1 && !is_default(stream) => {
                Some(Arc::as_ptr(stream))
            }
            _ => None,
        }
    }
}
