//! How the tests that every backend passes look into device memory: [`CudaProbe`]. The tests of this
//! crate are those of `pool-cuda` on the simulated driver.

#![allow(clippy::unwrap_used, reason = "a crate of tests: what fails panics")]

use pool_conformance::Probe;
use pool_core::Element;
use pool_cuda::{Cuda, CudaDevice, DeviceStream, DeviceView, DeviceViewMut};

/// Looks into the memory of one device.
#[derive(Debug)]
pub struct CudaProbe {
    device: CudaDevice,
}

impl CudaProbe {
    /// A probe whose pools each have a stream of their own on this device.
    #[must_use]
    pub fn new(device: CudaDevice) -> Self {
        Self { device }
    }
}

/// The elements of a view. Those of the tests were written by the tests, so they are valid, also where
/// not all bytes are.
fn read<T: Element>(view: &DeviceView<'_, T>) -> Vec<T> {
    let mut elements = vec![T::zeroed(); view.len()];
    // SAFETY: the same elements; `Element`s have no padding, so all their bytes are initialised.
    let bytes = unsafe {
        std::slice::from_raw_parts_mut(elements.as_mut_ptr().cast::<u8>(), size_of_val(&*elements))
    };
    view.as_bytes().copy_to_host(bytes).unwrap();
    elements
}

impl Probe for CudaProbe {
    type Backend = Cuda;

    fn context(&self) -> DeviceStream {
        self.device.new_stream().unwrap()
    }

    fn address<T: Element>(&self, view: &DeviceViewMut<'_, T>) -> usize {
        usize::try_from(view.address()).unwrap()
    }

    fn shared_address<T: Element>(&self, view: &DeviceView<'_, T>) -> usize {
        usize::try_from(view.address()).unwrap()
    }

    fn read<T: Element>(&self, view: &DeviceViewMut<'_, T>) -> Vec<T> {
        read(&view.as_view())
    }

    fn read_shared<T: Element>(&self, view: &DeviceView<'_, T>) -> Vec<T> {
        read(view)
    }

    fn write<T: Element>(&self, view: &mut DeviceViewMut<'_, T>, elements: &[T]) {
        view.copy_from_host(elements).unwrap();
    }
}
