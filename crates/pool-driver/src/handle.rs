//! Driver handles that end with a context. This code is shared by events, streams, memory pools and
//! graphs.

use std::fmt;
use std::sync::Arc;

use cudarc::driver::CudaContext;

use crate::context::bind;
use crate::error::CudaError;
use crate::leftovers::{LeftoverKind, Resource};

/// A kind of handle: the driver's type, and the call that destroys a handle.
///
/// # Safety
///
/// It must be sound to make the driver's calls on such a handle from any thread.
pub unsafe trait HandleKind: 'static {
    /// The driver's type.
    type Handle: Copy + fmt::Debug;

    /// The kind under which [`Leftovers`](crate::leftovers::Leftovers) counts the handle.
    const KIND: LeftoverKind;

    /// Checks that a handle may be destroyed now.
    fn check() -> Result<(), CudaError> {
        Ok(())
    }

    /// Destroys a handle. The handle's context is current.
    ///
    /// # Safety
    ///
    /// The handle must be live. If the call succeeds, or fails because the context is gone, the
    /// handle must not be used again.
    unsafe fn destroy(handle: Self::Handle) -> Result<(), CudaError>;
}

/// A handle, and the context with which it ends.
pub struct ContextHandle<K: HandleKind> {
    handle: K::Handle,
    context: Arc<CudaContext>,
}

// SAFETY: the driver's calls on the handle may be made from any thread (trait), and the value
// itself never changes.
unsafe impl<K: HandleKind> Send for ContextHandle<K> {}

impl<K: HandleKind> ContextHandle<K> {
    /// Takes ownership of a handle.
    ///
    /// # Safety
    ///
    /// The handle must be live and belong to this context, and no other code may destroy it.
    pub unsafe fn new(handle: K::Handle, context: &Arc<CudaContext>) -> Self {
        Self { handle, context: Arc::clone(context) }
    }

    /// Returns the handle, which is live while `self` has an owner.
    pub fn get(&self) -> K::Handle {
        self.handle
    }

    /// Returns the context with which the handle ends.
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
        // SAFETY: the handle is live (`new`), and no other code uses it (caller).
        unsafe { K::destroy(self.handle) }
    }
}

impl<K: HandleKind> fmt::Debug for ContextHandle<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("ContextHandle").field(&self.handle).finish()
    }
}
