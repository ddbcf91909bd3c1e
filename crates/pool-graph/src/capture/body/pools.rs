//! The pools of a body's scopes, and the stream that they use in a dry run.

use std::fmt;
use std::sync::Arc;

use pool_core::{Pool, PoolConfig};
use pool_cuda::Cuda;
use pool_driver::capture_mode::with_relaxed_capture_mode;
use pool_driver::captures_under_way::CaptureUnderWay;
use pool_driver::context::bind;
use pool_driver::cudarc::driver::{CudaContext, CudaStream};
use pool_driver::event::Event;

use crate::capture::deferred_destruction::DeferredDestruction;
use crate::capture::error::CaptureError;
use crate::driver::{CaptureMode, KeptValues, StreamCapture};

/// The pools of a body's scopes. There is one pool for each stream on which a scope has been
/// opened.
pub(crate) struct Pools {
    // Rust drops fields in declaration order. The pools must be dropped before the stream that they
    // use.
    pub(super) scopes: Vec<Option<Pool<Cuda>>>,
    pub(super) dry: Option<DryStream>,
}

/// The stream that pools use in a dry run. This stream is in capture mode for its whole lifetime,
/// so launches on it never run. User code cannot end the capture through this stream, because the
/// capture began on a different stream.
pub(super) struct DryStream {
    // Rust drops fields in declaration order. Dropping the first two fields discards the capture
    // and destroys the stream. Next, dropping `_under_way` allows eager pools to wait for all work
    // in the context again. Finally, dropping `_deferred` destroys the objects whose destruction
    // was deferred until the end of the capture.
    _capture: StreamCapture,
    pub(super) stream: Arc<CudaStream>,
    _under_way: CaptureUnderWay,
    _deferred: DeferredDestruction,
}

impl DryStream {
    /// Creates a stream and begins capturing it. The capture shares ownership of `values`.
    pub(super) fn new(
        context: &Arc<CudaContext>,
        values: &Arc<KeptValues>,
    ) -> Result<Self, CaptureError> {
        bind(context)?;
        // The context might contain an error from an earlier call. `new_stream` did not cause this
        // error, so it is put back into the context.
        let earlier = context.check_err();
        let made = with_relaxed_capture_mode(|| context.new_stream());
        context.record_err(earlier);
        let stream = made?;
        let event = Arc::new(Event::new(context)?);
        // Eager pools must not wait for all work in the context, because doing so would invalidate
        // this capture.
        let (deferred, under_way) = (DeferredDestruction, CaptureUnderWay::begin());
        let capture = StreamCapture::begin(&stream, CaptureMode::Relaxed, &event, values)?
            .ok_or_else(|| CaptureError::invalidated(context, CaptureMode::Relaxed))?;
        Ok(Self { _capture: capture, stream, _under_way: under_way, _deferred: deferred })
    }
}

impl Pools {
    pub(crate) fn new(streams: usize) -> Self {
        Self { scopes: (0..streams).map(|_| None).collect(), dry: None }
    }
}

/// Returns the configuration for a capture's pools. Each block is allocated with exactly the
/// requested size because the body runs only once.
pub(crate) fn config() -> PoolConfig {
    PoolConfig::new().name("capture").growth_factor(1.0)
}

impl fmt::Debug for Pools {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pools").field("scopes", &self.scopes).finish_non_exhaustive()
    }
}
