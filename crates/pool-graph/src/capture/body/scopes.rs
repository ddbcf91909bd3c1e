//! Scopes in a capture's body. A capture's scopes use the same [`Scope`] and device views as eager
//! code, but their pools allocate blocks from the capture's memory.

use std::sync::Arc;

use pool_core::{Pool, Scope};
use pool_cuda::{Cuda, DeviceStream, register_stream};
use pool_driver::cudarc::driver::CudaStream;
use pool_driver::error::CudaError;

use super::call_site::CallSite;
use super::capture::Capture;
use super::names::CaptureStream;
use super::pools::{DryStream, config};
use super::source::FromArena;
use super::trace::BodyStep;
use crate::capture::error::CaptureError;
use crate::driver::KeptValues;

impl<'c> Capture<'c> {
    /// Opens a scope on this stream and passes the scope to `body`. Functions that accept a
    /// [`Scope<'_, Cuda>`](Scope) can be captured without changes.
    ///
    /// ```no_run
    /// use pool_core::{PoolError, Scope};
    /// use pool_cuda::{Cuda, CudaError};
    /// use pool_graph::{Capture, CaptureError};
    ///
    /// /// Nothing here knows of captures.
    /// fn step(scope: &Scope<'_, Cuda>) -> Result<(), PoolError<CudaError>> {
    ///     let scratch = scope.try_acquire_zeroed::<f32, _>(1000)?;
    ///     // … `scope.launch(&kernel).arg(&scratch)` …
    ///     # drop(scratch);
    ///     Ok(())
    /// }
    ///
    /// fn body(capture: &Capture<'_>) -> Result<(), CaptureError> {
    ///     capture.scope(capture.main(), |scope| Ok(step(scope)?))
    /// }
    /// ```
    ///
    /// Each of the session's streams has a single pool for its scopes. The capture creates this
    /// pool on the first call to `scope` and retains it until the capture ends. Consecutive scopes
    /// reuse the pool's blocks, as they do in eager code. Each block remains a region of the arena
    /// *for the rest of the capture*. No other temporary can use a block's bytes, because the
    /// capture does not record which kernels use the block. If the pool frees a block because
    /// `trim` is called or a slot grows, only this pool can reuse the block. The result of a
    /// [probe](crate::CaptureSession::probe) includes the bytes that the scopes need. For a body
    /// with many large temporaries, [`acquire`](Self::acquire) needs less memory than a scope,
    /// because temporaries that are not in use at the same time can share bytes.
    ///
    /// In a scope, code can access the graph's blocks and the capture's temporaries through
    /// [`lend`](Self::lend).
    ///
    /// A scope and its views do not support `copy_to_vec`, `copy_to_host`, `copy_from_host`, or
    /// `acquire_from`. These operations fail with [`CudaError::Capturing`], because they wait for
    /// the device or access host memory that the graph does not own. Instead of `copy_from_host`
    /// and `acquire_from`, use the capture's [`copy_from_host`](Self::copy_from_host) method.
    ///
    /// **Other streams.** To use a view on another of the session's streams, call
    /// `view.on(&stream)`. If that stream is not part of the capture yet, it joins the capture.
    /// When the scope ends, its stream waits for the other stream. The capture rejects streams that
    /// do not belong to the session. In a dry run, `on` accepts only streams that belong to scopes.
    /// A body that supports dry runs therefore opens a scope named `inner` on the branch and calls
    /// `view.on(inner.context().stream())`.
    ///
    /// **Kernels.** The graph keeps functions launched with `scope.launch` alive, so the caller may
    /// drop them. If a kernel is launched in any other way, pass its function to
    /// [`keep`](Self::keep).
    ///
    /// **Dry runs.** In a [probe](crate::CaptureSession::probe), addresses do not refer to real
    /// memory, and the scope uses a separate stream whose capture is discarded. Kernels must be
    /// launched on `scope.context().stream()`, which is the stream that `scope.launch` uses. A
    /// kernel launched on one of the session's own streams would actually run. A driver might
    /// reject cudarc's own copies and fills if their addresses do not refer to real memory. If the
    /// driver rejects a copy or a fill, the probe returns the driver's error. The views' own copy
    /// and fill methods avoid this error.
    ///
    /// ```compile_fail,E0521
    /// # use pool_cuda::{Cuda, DeviceViewMut};
    /// # use pool_graph::{Capture, CaptureError};
    /// # fn body(capture: &Capture<'_>) -> Result<(), CaptureError> {
    /// let mut kept: Option<DeviceViewMut<'_, f32>> = None;
    /// capture.scope(capture.main(), |scope| {
    ///     kept = Some(scope.try_acquire::<f32, _>(8)?); // view_of_a_captured_scope_kept
    ///     Ok::<(), CaptureError>(())
    /// })
    /// # }
    /// ```
    ///
    /// ```compile_fail,E0521
    /// # use pool_core::Scope;
    /// # use pool_cuda::Cuda;
    /// # use pool_graph::{Capture, CaptureError};
    /// # fn body(capture: &Capture<'_>) -> Result<(), CaptureError> {
    /// let mut kept: Option<&mut Scope<'_, Cuda>> = None;
    /// capture.scope(capture.main(), |scope| {
    ///     kept = Some(scope); // captured_scope_kept
    ///     Ok::<(), CaptureError>(())
    /// })
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// An error from `body` takes precedence over all other errors. If the capture refuses to
    /// allocate a block for the pool, the pool's error does not contain the reason. In this case,
    /// `scope` returns the original error: [`CaptureError::Diverged`] or an error from the arena.
    /// If a scope is already open on the same stream, `scope` returns [`CaptureError::ScopeOpen`].
    /// If a driver call fails, `scope` returns the driver's error.
    ///
    /// Ending a scope is also a step of the body. This step may differ from the planned one, for
    /// example if the body ignores an error. If this step differs, either the next step or the call
    /// that ends the capture fails with [`CaptureError::Diverged`].
    #[track_caller]
    pub fn scope<R, E: From<CaptureError>>(
        &self,
        stream: CaptureStream,
        body: impl FnOnce(&mut Scope<'_, Cuda>) -> Result<R, E>,
    ) -> Result<R, E> {
        let opened = OpenScopeGuard::new(self, self.check(stream)?, CallSite::of("scope"))?;
        let refused_before = self.account.open().has_refused();
        // If the body panics, the pool is dropped before `opened`. The pool's destructor makes the
        // scope's stream wait for the other streams.
        let mut pool = self.take_pool(opened.stream)?;
        let result = body(&mut pool.scope());
        let noted = self.account.open().check_noted();
        let ended = end_uses(pool.context());
        self.pools.borrow_mut().scopes[opened.stream] = Some(pool);
        drop(opened);
        let Ok(result) = result else {
            // The body might have failed with a pool error that does not contain the original
            // reason.
            let refused = if refused_before { None } else { self.account.open().report_refused() };
            return refused.map_or(result, |refused| Err(refused.into()));
        };
        // If several errors have occurred, the first one is returned.
        noted?;
        ended.map_err(CaptureError::from)?;
        self.account.open().check_noted()?;
        Ok(result)
    }

    /// Returns the CUDA stream on which a session stream's scopes enqueue their work.
    pub(crate) fn pool_stream(&self, stream: usize) -> Result<Arc<CudaStream>, CaptureError> {
        let (streams, is_dry, values) = {
            let account = self.account.open();
            (Arc::clone(account.streams()), account.is_dry(), account.values())
        };
        if !is_dry {
            streams.iter().for_each(register_stream);
            return Ok(Arc::clone(&streams[stream]));
        }
        if let Some(dry) = &self.pools.borrow().dry {
            return Ok(Arc::clone(&dry.stream));
        }
        let values = values.map_or_else(KeptValues::new, Ok)?;
        let dry = DryStream::new(streams[stream].context(), &values)?;
        let dry_stream = Arc::clone(&dry.stream);
        self.pools.borrow_mut().dry = Some(dry);
        Ok(dry_stream)
    }

    fn take_pool(&self, stream: usize) -> Result<Pool<Cuda>, CaptureError> {
        let kept = self.pools.borrow_mut().scopes[stream].take();
        if let Some(pool) = kept {
            return Ok(pool);
        }
        let source = FromArena::new(&self.account, stream);
        let context = DeviceStream::from_source(self.pool_stream(stream)?, source)?;
        Ok(Pool::with_config(context, config())?)
    }
}

/// Makes the pool's stream wait for all other streams that used its memory. Returns the first error
/// that occurred. The cause might be a failed wait between streams. After a failed wait, a kernel
/// might have received an address of 0.
pub(crate) fn end_uses(stream: &DeviceStream) -> Result<(), CudaError> {
    let pending = |stream: &DeviceStream| stream.take_pending_error().map_or(Ok(()), Err);
    let before = pending(stream);
    let joined = stream.join_other_streams();
    before.and(joined).and(pending(stream))
}

/// A guard for an open scope. Dropping the guard closes the scope, even if the body panics.
struct OpenScopeGuard<'a> {
    capture: &'a Capture<'a>,
    stream: usize,
}

impl<'a> OpenScopeGuard<'a> {
    fn new(capture: &'a Capture<'_>, stream: usize, site: CallSite) -> Result<Self, CaptureError> {
        capture.account.open().open_scope(stream, site)?;
        // From here on, dropping `guard` closes the scope.
        let guard = Self { capture, stream };
        capture.account.open().step(&BodyStep::Scope { stream, opens: true })?;
        Ok(guard)
    }
}

impl Drop for OpenScopeGuard<'_> {
    fn drop(&mut self) {
        self.capture.account.open().close_scope(self.stream);
    }
}
