//! Scopes in the body of a capture: the same [`Scope`] and the same device views as outside, of a pool
//! whose blocks are the capture's.

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

impl<'c> Capture<'c> {
    /// Runs `body` with a scope of a pool on this stream: code for a [`Scope<'_, Cuda>`](Scope) can
    /// be captured unchanged.
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
    /// Each stream of the session has one pool, which the capture creates at the first call and
    /// keeps to its end. Consecutive calls reuse its blocks, as outside. Each block is a region of
    /// the arena *for the rest of the capture*: its uses by kernels are not recorded, so its bytes
    /// are never shared with another temporary. A block that is freed, by growth of a slot or by
    /// `trim`, is reused by the same pool alone. A [probe](crate::CaptureSession::probe) returns
    /// the bytes that this takes. For many large temporaries, [`acquire`](Self::acquire) shares
    /// their bytes along the graph.
    ///
    /// Blocks of the graph, and temporaries of the capture, enter a scope by [`lend`](Self::lend).
    ///
    /// Methods that wait for the device, or copy host memory that the graph does not own, fail with
    /// [`CudaError::Capturing`]: `copy_to_vec`, `copy_to_host`, `copy_from_host`, `acquire_from`. For the last two
    /// there is [`copy_from_host`](Self::copy_from_host) of the capture.
    ///
    /// **Other streams.** A view may be used on another stream of the session, by
    /// `view.on(&stream)`. That stream joins the capture if necessary, and is joined with this one
    /// when the scope ends. A stream outside the session is refused. In a dry run only streams of
    /// scopes are accepted: open one on the branch and use `view.on(inner.context().stream())`.
    ///
    /// **Dry runs.** In a [probe](crate::CaptureSession::probe) addresses have no memory, and the
    /// scope's stream is one whose capture is discarded. Launches must go to
    /// `scope.context().stream()`, as `scope.launch` does: a kernel launched on the session's
    /// stream would really run. A driver may refuse cudarc's own copies and fills of such
    /// addresses. The probe then returns its error; use the views' own copies and fills.
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
    /// The body's own error, before any other. If the capture refused a block to the pool, the
    /// pool's error lacks the reason, so this one is returned in its place:
    /// [`CaptureError::Diverged`], or the arena's. [`CaptureError::ScopeOpen`] inside a scope on
    /// the same stream; and the driver's error code.
    ///
    /// The end of a scope is a step, too. If it differs from the step that the body must follow, as
    /// after an error that the body ignores, the next step fails with [`CaptureError::Diverged`],
    /// or the capture does at its end.
    #[track_caller]
    pub fn scope<R, E: From<CaptureError>>(
        &self,
        stream: CaptureStream,
        body: impl FnOnce(&mut Scope<'_, Cuda>) -> Result<R, E>,
    ) -> Result<R, E> {
        let opened = OpenScopeGuard::new(self, self.check(stream)?, CallSite::of("scope"))?;
        let refused_before = self.account.open().has_refused();
        // It is dropped before `opened` if the body unwinds: then it joins the streams.
        let mut pool = self.take_pool(opened.stream)?;
        let result = body(&mut pool.scope());
        let noted = self.account.open().check_noted();
        let ended = end_uses(pool.context());
        self.pools.borrow_mut().scopes[opened.stream] = Some(pool);
        drop(opened);
        let Ok(result) = result else {
            // The body has the error that its pool got in place of this one.
            let refused = if refused_before { None } else { self.account.open().report_refused() };
            return refused.map_or(result, |refused| Err(refused.into()));
        };
        // They are returned in the order of their occurrence.
        noted?;
        ended.map_err(CaptureError::from)?;
        self.account.open().check_noted()?;
        Ok(result)
    }

    /// Creates a context for pools on a stream.
    pub(crate) fn pool_stream(&self, stream: usize) -> Result<Arc<CudaStream>, CaptureError> {
        let (streams, is_dry) = {
            let account = self.account.open();
            (Arc::clone(account.streams()), account.is_dry())
        };
        if !is_dry {
            streams.iter().for_each(announce);
            return Ok(Arc::clone(&streams[stream]));
        }
        if let Some(dry) = &self.pools.borrow().dry {
            return Ok(Arc::clone(&dry.stream));
        }
        let dry = DryStream::new(streams[stream].context())?;
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
/// first error: if a stream could not be ordered earlier, a kernel may have got the address 0.
pub(crate) fn end_uses(stream: &DeviceStream) -> Result<(), CudaError> {
    let unanswered = |stream: &DeviceStream| stream.take_unanswered().map_or(Ok(()), Err);
    let before = unanswered(stream);
    let joined = stream.join_other_streams();
    before.and(joined).and(unanswered(stream))
}

/// An open scope on a stream. Its drop closes it, even if the body unwinds.
struct OpenScopeGuard<'a> {
    capture: &'a Capture<'a>,
    stream: usize,
}

impl<'a> OpenScopeGuard<'a> {
    fn new(capture: &'a Capture<'_>, stream: usize, site: CallSite) -> Result<Self, CaptureError> {
        capture.account.open().open_scope(stream, site)?;
        // From here on its drop closes the scope.
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
