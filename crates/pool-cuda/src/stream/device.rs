//! Wraps a device's primary context and the memory pool that provides its blocks.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use cudarc::driver::{CudaContext, CudaStream, result, sys};
use pool_driver::answer::answer;
use pool_driver::calls::device_memory;
use pool_driver::capture_mode::with_relaxed_capture_mode;
use pool_driver::context::{bind, ordinal};
use pool_driver::error::{CudaError, MemoryInfo};
use pool_driver::memory_pool::MemoryPool;

use crate::stream::peers::Peers;

/// An open device. A `CudaDevice` keeps the device's primary context alive and owns a private
/// memory pool for its streams. Clones refer to the same device.
#[derive(Clone)]
pub struct CudaDevice(Arc<Inner>);

/// The fields of a [`CudaDevice`]. The memory pool and the stream are declared before the context
/// so that they are dropped before it.
struct Inner {
    memory: Option<MemoryPool>,
    first: Option<FirstStream>,
    peers: Peers,
    context: Arc<CudaContext>,
}

/// A context's first stream. This stream is created before any other code can access the context.
/// The stream exists for as long as the context does.
///
/// When cudarc creates a context's first stream, it waits for all work in the context. If another
/// thread were capturing a stream in the context, this wait would fail and invalidate the capture.
#[derive(Clone)]
struct FirstStream {
    stream: Arc<CudaStream>,
    is_taken: Arc<AtomicBool>,
}

impl FirstStream {
    fn new(context: &Arc<CudaContext>) -> Result<Self, CudaError> {
        // With event tracking disabled, cudarc does not wait for the work in the context. This wait
        // is unnecessary because the context has no slices yet. SAFETY: no other code can access
        // the context, so no slice can be created while event tracking is disabled.
        unsafe { context.disable_event_tracking() };
        let made = with_relaxed_capture_mode(|| context.new_stream());
        // SAFETY: no other code can access the context yet, so no slice has been created while
        // event tracking was disabled.
        unsafe { context.enable_event_tracking() };
        let stream = answer("cuStreamCreate", made)?;
        Ok(Self { stream, is_taken: Arc::default() })
    }

    /// Returns the first stream to the first caller and `None` to all later callers.
    fn take(&self) -> Option<Arc<CudaStream>> {
        let was_taken = self.is_taken.swap(true, Ordering::Relaxed);
        (!was_taken).then(|| Arc::clone(&self.stream))
    }
}

impl CudaDevice {
    /// Opens the device with the given ordinal. The device must exist.
    pub(crate) fn open(ordinal: u32) -> Result<Self, CudaError> {
        let number = i32::try_from(ordinal).unwrap_or(i32::MAX);
        let device = answer("cuDeviceGet", result::device::get(number))?;
        // cudarc leaks a context if it fails after retaining the context. To prevent this leak,
        // this function first queries the attributes that cudarc will query. SAFETY: the driver
        // returned this device.
        answer("cuDeviceGetAttribute", unsafe {
            result::device::get_attribute(
                device,
                sys::CUdevice_attribute_enum::CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED,
            )
        })?;
        let opened = with_relaxed_capture_mode(|| CudaContext::new(ordinal as usize));
        let context = answer("cuDevicePrimaryCtxRetain", opened)?;
        let first = FirstStream::new(&context)?;
        Self::with(context, Some(first))
    }

    fn with(context: Arc<CudaContext>, first: Option<FirstStream>) -> Result<Self, CudaError> {
        let memory = match context.has_async_alloc() {
            true => Some(MemoryPool::new(&context)?),
            false => None,
        };
        Ok(Self(Arc::new(Inner { memory, first, peers: Peers::default(), context })))
    }

    /// Wraps the device of a context created by other code.
    ///
    /// If the context has no streams yet, cudarc waits for all work in the context before it
    /// creates the first stream. No thread may capture a stream in the context during this call.
    ///
    /// # Errors
    ///
    /// Returns [`CudaError::Call`] if the driver refuses to create a memory pool.
    pub fn of_context(context: Arc<CudaContext>) -> Result<Self, CudaError> {
        Self::with(context, None)
    }

    /// Wraps a context's device without allocating anything. The returned device has no memory
    /// pool.
    pub(crate) fn without_allocations(context: Arc<CudaContext>) -> Self {
        Self(Arc::new(Inner { memory: None, first: None, peers: Peers::default(), context }))
    }

    /// Returns the same device without its memory pool. The returned device allocates its blocks
    /// with `cuMemAlloc` instead of the stream-ordered allocator. A device without a memory pool is
    /// useful for comparisons and for tools that do not support memory pools.
    #[must_use]
    pub fn without_memory_pool(self) -> Self {
        let (first, context) = (self.0.first.clone(), Arc::clone(&self.0.context));
        Self(Arc::new(Inner { memory: None, first, peers: Peers::default(), context }))
    }

    /// Returns the device's ordinal. Ordinals start at 0.
    #[must_use]
    pub fn ordinal(&self) -> u32 {
        ordinal(&self.0.context)
    }

    /// Returns the device's name, as reported by the driver.
    ///
    /// # Errors
    ///
    /// Returns [`CudaError::Call`] if the driver does not report the name.
    pub fn name(&self) -> Result<String, CudaError> {
        answer("cuDeviceGetName", result::device::get_name(self.0.context.cu_device()))
    }

    /// Returns the sizes of the device's free and total memory.
    ///
    /// # Errors
    ///
    /// Returns [`CudaError::Call`] if the driver does not report the sizes.
    pub fn memory(&self) -> Result<MemoryInfo, CudaError> {
        device_memory(&self.0.context)
    }

    /// Returns `true` if the device's blocks are allocated in stream order.
    #[must_use]
    pub fn has_memory_pool(&self) -> bool {
        self.0.memory.is_some()
    }

    /// Returns cudarc's context for the device.
    #[must_use]
    pub fn context(&self) -> &Arc<CudaContext> {
        &self.0.context
    }

    /// Creates a stream that does not synchronize with the legacy default stream.
    pub(crate) fn raw_stream(&self) -> Result<Arc<CudaStream>, CudaError> {
        bind(&self.0.context)?;
        if let Some(first) = self.0.first.as_ref().and_then(FirstStream::take) {
            return Ok(first);
        }
        // If an earlier call left an error in the context, this method neither removes nor returns
        // it.
        let earlier = self.0.context.check_err();
        let made = with_relaxed_capture_mode(|| self.0.context.new_stream());
        self.0.context.record_err(earlier);
        answer("cuStreamCreate", made)
    }

    pub(crate) fn peers(&self) -> &Peers {
        &self.0.peers
    }

    pub(crate) fn memory_pool(&self) -> Option<&MemoryPool> {
        self.0.memory.as_ref()
    }
}

impl fmt::Debug for CudaDevice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CudaDevice")
            .field("ordinal", &self.ordinal())
            .field("memory_pool", &self.has_memory_pool())
            .finish_non_exhaustive()
    }
}
