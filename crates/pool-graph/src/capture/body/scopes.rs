//! Scopes in the body of a capture. They provide the same [`Scope`] and the same device views as
//! outside a capture, from a pool whose blocks belong to the capture.

use std::sync::Arc;

use pool_core::{Pool, Scope};
use pool_cuda::{Cuda, DeviceStream, announce};
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
    /// Runs `body` with a scope of a pool on this stream. Code that takes a
    /// [`Scope<'_, Cuda>`](Scope) can be captured unchanged.
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
    /// Each stream of the session has one pool. The capture creates the pool at the first call and
    /// keeps it until the capture ends. Consecutive calls reuse its blocks, as they do outside a
    /// capture. Each block is a region of the arena *for the rest of the capture*. Its uses by
    /// kernels are not recorded, so its bytes are never shared with another temporary. If a block
    /// is freed because a slot grows, or by `trim`, only the same pool reuses it. A
    /// [probe](crate::CaptureSession::probe) reports the bytes that the scopes need. If a body has
    /// many large temporaries, use [`acquire`](Self::acquire), which shares bytes between
    /// temporaries according to the order of the graph.
    ///
    /// Use [`lend`](Self::lend) to pass blocks of the graph and temporaries of the capture to a
    /// scope.
    ///
    /// Operations that wait for the device, or that copy host memory the graph does not own, fail
    /// with [`CudaError::Capturing`]: `copy_to_vec`, `copy_to_host`, `copy_from_host` and
    /// `acquire_from`. In place of the last two, use [`copy_from_host`](Self::copy_from_host) of
    /// the capture.
    ///
    /// **Other streams.** A view may be used on another stream of the session with
    /// `view.on(&stream)`. That stream joins the capture if necessary, and is joined with this
    /// stream when the scope ends. A stream outside the session is refused. In a dry run, only the
    /// streams of scopes are accepted: open a scope on the branch, and use
    /// `view.on(inner.context().stream())`.
    ///
    /// **Kernels.** The graph keeps the functions that `scope.launch` launches, so the caller may drop
    /// them. Pass the function of any other launch to [`keep`](Self::keep).
    ///
    /// **Dry runs.** In a [probe](crate::CaptureSession::probe), addresses have no memory behind
    /// them, and the scope works on a separate stream whose capture is discarded. Launches must go
    /// to `scope.context().stream()`, as `scope.launch` does. A kernel launched on the session's
    /// stream would really run. A driver may refuse cudarc's own copies and fills of such
    /// addresses, and the probe then returns the driver's error. Use the copies and fills of the
    /// views instead.
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
    /// The body's own error takes precedence over any other error. If the capture refused a block
    /// to the pool, the pool's error does not contain the reason. In that case the reason is
    /// returned instead: [`CaptureError::Diverged`], or the arena's error. A call inside a scope on
    /// the same stream fails with [`CaptureError::ScopeOpen`]. Any other error is the driver's
    /// error code.
    ///
    /// The end of a scope is also a step. It may differ from the step that the body must follow,
    /// for example if the body ignores an error. The next step then fails with
    /// [`CaptureError::Diverged`], or the capture fails at its end.
    #[track_caller]
    pub fn scope<R, E: From<CaptureError>>(
        &self,
        stream: CaptureStream,
        body: impl FnOnce(&mut Scope<'_, Cuda>) -> Result<R, E>,
    ) -> Result<R, E> {
        let opened = OpenScopeGuard::new(self, self.check(stream)?, CallSite::of("scope"))?;
        let refused_before = self.account.open().has_refused();
        // If the body unwinds, the pool is dropped before `opened`, and joins the streams.
        let mut pool = self.take_pool(opened.stream)?;
        let result = body(&mut pool.scope());
        let noted = self.account.open().check_noted();
        let ended = end_uses(pool.context());
        self.pools.borrow_mut().scopes[opened.stream] = Some(pool);
        drop(opened);
        let Ok(result) = result else {
            // The body's error is the one that its pool received in place of the original error.
            let refused = if refused_before { None } else { self.account.open().report_refused() };
            return refused.map_or(result, |refused| Err(refused.into()));
        };
        // Errors are returned in the order in which they occurred.
        noted?;
        ended.map_err(CaptureError::from)?;
        self.account.open().check_noted()?;
        Ok(result)
    }

    /// Returns the stream that the pools for a stream of the session work on.
    pub(crate) fn pool_stream(&self, stream: usize) -> Result<Arc<CudaStream>, CaptureError> {
        let (streams, is_dry, values) = {
            let account = self.account.open();
            (Arc::clone(account.streams()), account.is_dry(), account.values())
        };
        if !is_dry {
            streams.iter().for_each(announce);
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

/// Joins the other streams that used memory of a body's pool with the pool's stream. Returns the
/// first error. If a stream could not be ordered earlier, a kernel may have received the address 0.
pub(crate) fn end_uses(stream: &DeviceStream) -> Result<(), CudaError> {
    let unanswered = |stream: &DeviceStream| stream.take_unanswered().map_or(Ok(()), Err);
    let before = unanswered(stream);
    let joined = stream.join_other_streams();
    before.and(joined).and(unanswered(stream))
}

/// An open scope on a stream. Dropping this guard closes the scope, even if the body unwinds.
struct OpenScopeGuard<'a> {
    capture: &'a Capture<'a>,
    stream: usize,
}

impl<'a> OpenScopeGuard<'a> {
    fn new(capture: &'a Capture<'_>, stream: usize, site: CallSite) -> Result<Self, CaptureError> {
        capture.account.open().open_scope(stream, site)?;
        // From here on, dropping the guard closes the scope.
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
