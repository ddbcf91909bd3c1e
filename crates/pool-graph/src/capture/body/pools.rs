//! The pools of a body's scopes, and the stream of these pools in a dry run.

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

/// The pools of a body's scopes, one for each stream on which a scope was opened.
pub(crate) struct Pools {
    // Dropped in this order: first the pools on the stream, then the stream.
    pub(super) scopes: Vec<Option<Pool<Cuda>>>,
    pub(super) dry: Option<DryStream>,
}

/// The stream of a dry run. It is captured, so that launches on it never run. User code cannot end
/// the capture through this stream, because the capture began on another stream.
pub(super) struct DryStream {
    // The order matters: the capture is discarded, the stream is destroyed, eager pools may wait
    // for the context again, and the objects that waited for the end of the capture are destroyed.
    _capture: StreamCapture,
    pub(super) stream: Arc<CudaStream>,
    _under_way: CaptureUnderWay,
    _deferred: DeferredDestruction,
}

impl DryStream {
    /// Creates a captured stream. The capture owns `values`.
    pub(super) fn new(
        context: &Arc<CudaContext>,
        values: &Arc<KeptValues>,
    ) -> Result<Self, CaptureError> {
        bind(context)?;
        // The context may hold an error from an earlier call. It does not belong to this call, so
        // it is put back into the context.
        let earlier = context.check_err();
        let made = with_relaxed_capture_mode(|| context.new_stream());
        context.record_err(earlier);
        let stream = made?;
        let event = Arc::new(Event::new(context)?);
        // Waiting for the context would also invalidate this capture.
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

/// Returns the configuration of pools for one capture. A block grows to exactly the requested size,
/// because the body runs only once.
pub(crate) fn config() -> PoolConfig {
    PoolConfig::new().name("capture").growth_factor(1.0)
}

impl fmt::Debug for Pools {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pools").field("scopes", &self.scopes).finish_non_exhaustive()
    }
}
