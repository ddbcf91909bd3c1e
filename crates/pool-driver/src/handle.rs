//! Handles of the driver that end with a context: the common part of events, streams, memory pools
//! and graphs.

use std::fmt;
use std::sync::Arc;

use cudarc::driver::CudaContext;

use crate::context::bind;
use crate::error::CudaError;
use crate::leftovers::{LeftoverKind, Resource};

/// A kind of handle: the driver's type, and the call that destroys one.
///
/// # Safety
///
/// The driver's calls on such a handle may be made from any thread.
pub unsafe trait HandleKind: 'static {
    /// The driver's type.
    type Handle: Copy + fmt::Debug;

    /// The kind as which [`Leftovers`](crate::leftovers::Leftovers) counts the handle.
    const KIND: LeftoverKind;

    /// Checks that a handle may be destroyed now.
    fn check() -> Result<(), CudaError> {
        Ok(())
    }

    /// Destroys a handle, whose context is the current one.
    ///
    /// # Safety
    ///
    /// The handle is live. If the call succeeds, or fails because the context is gone, this is its last use.
    unsafe fn destroy(handle: Self::Handle) -> Result<(), CudaError>;
}

/// A handle with the context that it ends with.
pub struct ContextHandle<K: HandleKind> {
    handle: K::Handle,
    context: Arc<CudaContext>,
}

// SAFETY: the driver's calls on the handle may be made from any thread (trait); the value itself never changes.
unsafe impl<K: HandleKind> Send for ContextHandle<K> {}

impl<K: HandleKind> ContextHandle<K> {
    /// Takes a handle over.
    ///
    /// # Safety
    ///
    /// The handle is live, of this context, and nothing else destroys it.
    pub unsafe fn new(handle: K::Handle, context: &Arc<CudaContext>) -> Self {
        Self { handle, context: Arc::clone(context) }
    }

    /// Returns the handle, which is live for as long as `self` has an owner.
    pub fn get(&self) -> K::Handle {
        self.handle
    }

    /// Returns the context that the handle ends with.
    pub fn context(&self) -> &Arc<CudaContext> {
        &self.context
    }
}

impl<K: HandleKind> Resource for ContextHandle<K> {
    const KIND: LeftoverKind = K::KIND;

    fn context(&self) -> Option<&CudaContext> {
        Some(&self.context)
    }

    unsafe fn give_back(&mut self) -> Result<(), CudaError> {
        K::check()?;
        bind(&self.context)?;
        // SAFETY: the handle is live (`new`), and nothing else has it (caller).
        unsafe { K::destroy(self.handle) }
    }
}

impl<K: HandleKind> fmt::Debug for ContextHandle<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("ContextHandle").field(&self.handle).finish()
    }
}
