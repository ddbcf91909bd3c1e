//! Wraps the handles of driver objects that belong to a context. The modules for events, streams,
//! memory pools, and graphs use these wrappers.

use std::fmt;
use std::sync::Arc;

use cudarc::driver::CudaContext;

use crate::context::bind;
use crate::deferred_frees::{DeferredFreeKind, Resource};
use crate::error::CudaError;

/// Defines the driver's type for one kind of handle, and the function that destroys such handles.
///
/// # Safety
///
/// The driver must allow any thread to make calls with handles of this kind.
pub unsafe trait HandleKind: 'static {
    /// The driver's type for the handle.
    type Handle: Copy + fmt::Debug;

    /// The category in which the queue of [deferred frees](crate::deferred_frees) counts the
    /// handle.
    const KIND: DeferredFreeKind;

    /// Returns an error if a handle must not be destroyed now.
    fn check() -> Result<(), CudaError> {
        Ok(())
    }

    /// Destroys a handle. The caller must have made the handle's context current.
    ///
    /// # Safety
    ///
    /// The handle must be alive. The handle must not be used again after the call has succeeded, or
    /// after it has failed because the context was destroyed or lost.
    unsafe fn destroy(handle: Self::Handle) -> Result<(), CudaError>;
}

/// A handle, and the context to which it belongs.
pub struct ContextHandle<K: HandleKind> {
    handle: K::Handle,
    context: Arc<CudaContext>,
}

// SAFETY: the trait guarantees that any thread may call the driver's functions for this kind of
// handle. The value itself never changes.
unsafe impl<K: HandleKind> Send for ContextHandle<K> {}

impl<K: HandleKind> ContextHandle<K> {
    /// Creates an owner for a handle.
    ///
    /// # Safety
    ///
    /// The handle must be alive and belong to this context, and no other code may destroy it.
    pub unsafe fn new(handle: K::Handle, context: &Arc<CudaContext>) -> Self {
        Self { handle, context: Arc::clone(context) }
    }

    /// Returns the handle, which stays alive until the owner of `self` is dropped.
    pub fn get(&self) -> K::Handle {
        self.handle
    }

    /// Returns the context to which the handle belongs.
    pub fn context(&self) -> &Arc<CudaContext> {
        &self.context
    }
}

impl<K: HandleKind> Resource for ContextHandle<K> {
    const KIND: DeferredFreeKind = K::KIND;

    fn context(&self) -> Option<&CudaContext> {
        Some(&self.context)
    }

    unsafe fn give_back(&mut self) -> Result<(), CudaError> {
        K::check()?;
        bind(&self.context)?;
        // SAFETY: the handle is alive, as `new` requires. The caller guarantees that no other code
        // uses the handle.
        unsafe { K::destroy(self.handle) }
    }
}

impl<K: HandleKind> fmt::Debug for ContextHandle<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("ContextHandle").field(&self.handle).finish()
    }
}
