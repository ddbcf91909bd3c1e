//! Probes for the cases that test all backends. They read device memory: [`CudaProbe`], and
//! [`StackedCudaProbe`] for stacked pools.

#![allow(clippy::unwrap_used, reason = "a failing test panics")]

use std::cell::RefCell;

use pool_conformance::{BackendProbe, Later, Ledger, SkipReason};
use pool_core::{Element, PodElement, Pool, PoolView, Stacked};
use pool_cuda::{BlockWatch, Cuda, CudaDevice, DeviceStream, DeviceView, DeviceViewMut};

/// A watch that writes a probe's ledger.
struct Watch(Ledger);

impl BlockWatch for Watch {
    fn admit(&self, bytes: usize) -> bool {
        self.0.ask(bytes).is_ok()
    }

    fn allocated(&self, address: u64, bytes: usize) {
        self.0.given(usize::try_from(address).unwrap(), bytes);
    }

    fn freed(&self, address: u64, bytes: usize) {
        // If this call is a mistake, the ledger records it.
        let _ = self.0.freed(usize::try_from(address).unwrap(), bytes);
    }
}

/// Returns the elements of a view. The tests wrote them, so they are valid, even if `T` has invalid
/// bit patterns.
fn read<T: Element>(view: &DeviceView<'_, T>) -> Vec<T> {
    elements(view.len(), |bytes| view.as_bytes().copy_to_host(bytes).unwrap())
}

/// Returns `length` elements, after `fill` has written valid bytes to them.
fn elements<T: Element>(length: usize, fill: impl FnOnce(&mut [u8])) -> Vec<T> {
    let mut elements = vec![T::zeroed(); length];
    // SAFETY: the bytes are those of the elements; `Element`s have no padding, so all bytes are
    // initialised.
    let bytes = unsafe {
        std::slice::from_raw_parts_mut(elements.as_mut_ptr().cast::<u8>(), size_of_val(&*elements))
    };
    fill(bytes);
    elements
}

/// Defines a probe for the pools of a backend.
macro_rules! device_probe {
    ($(#[$documentation:meta])* $probe:ident, $backend:ty) => {
        $(#[$documentation])*
#[derive(Debug)]
pub struct $probe {
    device: CudaDevice,
    ledger: Ledger,
    /// A pool on another stream, which is the source of copies between pools.
    elsewhere: RefCell<Pool<$backend>>,
}

impl $probe {
    /// Creates a probe whose pools each have their own stream on this device.
    ///
    /// # Panics
    ///
    /// Panics if the device cannot create a stream.
    #[must_use]
    pub fn new(device: CudaDevice) -> Self {
        let elsewhere = RefCell::new(Pool::new(device.new_stream().unwrap()));
        Self { device, ledger: Ledger::new(), elsewhere }
    }
}

impl BackendProbe for $probe {
    type Backend = $backend;

    fn context(&self) -> DeviceStream {
        self.device.new_stream().unwrap().watched(Watch(self.ledger.clone()))
    }

    fn shared_address<T: Element>(&self, view: &DeviceView<'_, T>) -> usize {
        usize::try_from(view.address()).unwrap()
    }

    fn read_shared<T: Element>(&self, view: &DeviceView<'_, T>) -> Vec<T> {
        read(view)
    }

    fn read_later<T: Element>(&self, view: &DeviceView<'_, T>) -> Later<'_, T> {
        let (length, bytes) = (view.len(), view.as_bytes());
        if bytes.is_empty() {
            return Box::new(move || vec![T::zeroed(); length]);
        }
        let stream = view.pool_stream().clone();
        let mut copy = stream.alloc_zeros::<u8>(bytes.len()).unwrap();
        stream.memcpy_dtod(&bytes, &mut copy).unwrap();
        Box::new(move || {
            let found = stream.clone_dtoh(&copy).unwrap();
            elements(length, |bytes| bytes.copy_from_slice(&found))
        })
    }

    fn write_elsewhere<T: PodElement>(
        &self,
        view: &mut DeviceViewMut<'_, T>,
        elements: &[T],
    ) -> Result<(), SkipReason> {
        let pool = &mut *self.elsewhere.borrow_mut();
        let stream = pool.context().stream().clone();
        let source = pool.scope().try_acquire_from(elements).unwrap();
        stream.memcpy_dtod(&source, view).unwrap();
        Ok(())
    }

    fn accounting(&self) -> Result<&Ledger, SkipReason> {
        Ok(&self.ledger)
    }

    fn refusal(&self) -> Result<&Ledger, SkipReason> {
        Ok(&self.ledger)
    }
}
    };
}

device_probe!(
    /// A probe of one device's memory.
    CudaProbe,
    Cuda
);

device_probe!(
    /// A [`CudaProbe`] for stacked pools.
    StackedCudaProbe,
    Stacked<Cuda>
);
