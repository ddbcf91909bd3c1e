//! The pools of a body's scopes, and their stream in a dry run.

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
use crate::driver::{CaptureMode, StreamCapture};

/// The pools of a body's scopes, one for each stream that had one.
pub(crate) struct Pools {
    // Dropped in this order: the pools on the stream, then the stream.
    pub(super) scopes: Vec<Option<Pool<Cuda>>>,
    pub(super) dry: Option<DryStream>,
}

/// A stream of a dry run. It is captured, so that launches on it never run. User code cannot end
/// its capture there, because it began on another stream.
pub(super) struct DryStream {
    // In this order: the capture is discarded, the stream is destroyed, eager pools may wait for
    // the context again, and objects that waited for the end of the capture are destroyed.
    _capture: StreamCapture,
    pub(super) stream: Arc<CudaStream>,
    _under_way: CaptureUnderWay,
    _deferred: DeferredDestruction,
}

impl DryStream {
    pub(super) fn new(context: &Arc<CudaContext>) -> Result<Self, CaptureError> {
        bind(context)?;
        // An error that earlier calls left in the context does not belong to this call. The context
        // keeps it.
        let earlier = context.check_err();
        let made = with_relaxed_capture_mode(|| context.new_stream());
        context.record_err(earlier);
        let stream = made?;
        let event = Arc::new(Event::new(context)?);
        // A wait for the context would invalidate this capture, too.
        let (deferred, under_way) = (DeferredDestruction, CaptureUnderWay::begin());
        let capture = StreamCapture::begin(&stream, CaptureMode::Relaxed, &event)?
            .ok_or_else(|| CaptureError::invalidated(context, CaptureMode::Relaxed))?;
        Ok(Self { _capture: capture, stream, _under_way: under_way, _deferred: deferred })
    }
}

impl Pools {
    pub(crate) fn new(streams: usize) -> Self {
        Self { scopes: (0..streams).map(|_| None).collect(), dry: None }
    }
}

/// Returns the configuration of pools for one capture: a block grows to the requested size and no
/// further, because the body runs once.
pub(crate) fn config() -> PoolConfig {
    PoolConfig::new().name("capture").growth_factor(1.0)
}

impl fmt::Debug for Pools {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pools").field("scopes", &self.scopes).finish_non_exhaustive()
    }
}
