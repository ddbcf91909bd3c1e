//! Values that stay alive until the driver has destroyed the objects that need them. For example, a
//! graph's nodes refer to functions in loaded modules, but the driver does not keep these modules
//! loaded.
//!
//! A capture has one handle each for its first stream, its graph, and its executable graph. All
//! three handles share ownership of the capture's values. The values are therefore dropped only
//! after all of these handles have been destroyed, even if the first attempt to destroy a handle
//! fails.

use std::fmt;
use std::mem;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use parking_lot::Mutex;
use pool_driver::capture_mode::with_relaxed_capture_mode;
use pool_driver::captures_under_way::is_capture_under_way;
use pool_driver::chain::Chain;
use pool_driver::cudarc::driver::{CudaContext, CudaFunction};
use pool_driver::deferred_frees::{DeferredFreeKind, QueueEntry, Resource, ResourceOwner};
use pool_driver::error::CudaError;
use pool_driver::handle::{ContextHandle, HandleKind};

/// Values that a capture's work needs, or memory owned by a session.
pub(crate) struct KeptValues(Mutex<ResourceOwner<Values>>);

/// The lists of retained values. A function in the list keeps its module loaded.
#[derive(Default)]
struct Values {
    functions: Chain<CudaFunction>,
    others: Chain<Box<dyn Send>>,
}

/// A driver handle, together with the values that must outlive it.
pub(crate) struct KeepingHandle<K: HandleKind> {
    // Rust drops fields in declaration order. The handle's context must be released before the
    // values are dropped.
    handle: ContextHandle<K>,
    values: Arc<KeptValues>,
    /// The values from updates whose outcome is unknown.
    doubtful: Chain<Arc<KeptValues>>,
}

impl KeptValues {
    /// Creates a `KeptValues` without any values.
    ///
    /// # Errors
    ///
    /// Returns [`CudaError::Bookkeeping`] if the host is out of memory.
    pub(crate) fn new() -> Result<Arc<Self>, CudaError> {
        let values = QueueEntry::new()?.own(Values::default());
        Ok(Arc::new(Self(Mutex::new(values))))
    }

    /// Keeps a function's module loaded. A function that is already in the list is not added again.
    /// No other function can have the same handle while this function is in the list.
    ///
    /// # Errors
    ///
    /// Returns [`CudaError::Bookkeeping`] if the host is out of memory.
    pub(crate) fn keep_function(&self, function: &CudaFunction) -> Result<(), CudaError> {
        let is_it = |kept: &CudaFunction| kept.cu_function() == function.cu_function();
        if self.0.lock().functions.iter().any(is_it) {
            return Ok(());
        }
        let link = Chain::of(function.clone())?;
        self.0.lock().functions.add(link);
        Ok(())
    }

    /// Keeps a value of any type alive.
    ///
    /// # Errors
    ///
    /// Returns [`CudaError::Bookkeeping`] if the host is out of memory. If the call fails, the
    /// value is dropped.
    pub(crate) fn keep(&self, value: Box<dyn Send>) -> Result<(), CudaError> {
        let link = Chain::of(value)?;
        self.0.lock().others.add(link);
        Ok(())
    }
}

impl Resource for Values {
    const KIND: DeferredFreeKind = DeferredFreeKind::OwnedMemory;

    fn context(&self) -> Option<&CudaContext> {
        None
    }

    /// Drops the values. While a capture is in progress, the method returns an error instead of
    /// dropping the values, because their destructors might call the driver. A panic in a
    /// destructor is caught so that the other resources in the queue are still released. The panic
    /// hook still reports the panic.
    unsafe fn give_back(&mut self) -> Result<(), CudaError> {
        let Self { functions, others } = self;
        if functions.is_empty() && others.is_empty() {
            return Ok(());
        }
        if is_capture_under_way() {
            return Err(CudaError::Capturing { operation: "drop values that a session owned" });
        }
        let (mut functions, mut others) = (mem::take(functions), mem::take(others));
        with_relaxed_capture_mode(|| {
            while let Some(one) = functions.pop() {
                drop_quietly(one);
            }
            while let Some(one) = others.pop() {
                drop_quietly(one);
            }
        });
        Ok(())
    }
}

fn drop_quietly<T>(value: T) {
    if let Err(panic) = catch_unwind(AssertUnwindSafe(|| drop(value))) {
        // The panic's payload is leaked because its destructor could panic as well.
        mem::forget(panic);
    }
}

impl<K: HandleKind> KeepingHandle<K> {
    /// Creates an owner for a handle and for the values that the handle's capture needs.
    pub(crate) fn new(handle: ContextHandle<K>, values: Arc<KeptValues>) -> Self {
        Self { handle, values, doubtful: Chain::new() }
    }

    pub(crate) fn handle(&self) -> &ContextHandle<K> {
        &self.handle
    }

    pub(crate) fn values(&self) -> &Arc<KeptValues> {
        &self.values
    }

    /// Replaces the values after the driver has updated the executable graph. The graph from which
    /// the handle was created also owns the old values.
    pub(crate) fn replace_values(&mut self, values: &Arc<KeptValues>) {
        self.values = Arc::clone(values);
    }

    /// Retains the values for an update that the driver might have performed.
    pub(crate) fn keep_doubtful(&mut self, values: Chain<Arc<KeptValues>>) {
        self.doubtful.add(values);
    }
}

impl<K: HandleKind> Resource for KeepingHandle<K> {
    const KIND: DeferredFreeKind = K::KIND;

    fn context(&self) -> Option<&CudaContext> {
        Resource::context(&self.handle)
    }

    unsafe fn give_back(&mut self) -> Result<(), CudaError> {
        // SAFETY: the caller upholds this method's safety contract, which is also the contract of
        // `ContextHandle::give_back`.
        unsafe { self.handle.give_back() }
    }
}

impl<K: HandleKind> fmt::Debug for KeepingHandle<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.handle.fmt(f)
    }
}

impl fmt::Debug for KeptValues {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("KeptValues").finish_non_exhaustive()
    }
}
