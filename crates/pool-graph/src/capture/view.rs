//! What a body uses: views of its temporaries and of the blocks that the graph keeps. They borrow the
//! capture, so none leaves it.

use std::fmt;
use std::marker::PhantomData;

use super::scope::Capture;

/// Elements in device memory, in the body of a capture: a temporary, which another one may follow in
/// its bytes once it is no longer used, or a block that the graph keeps.
///
/// It is an address and a length; dropping it says that nothing uses it any more.
#[must_use]
pub struct CaptureView<'c, T> {
    pub(super) capture: &'c Capture<'c>,
    pub(super) region: usize,
    pub(super) elements: usize,
    element: PhantomData<*mut T>,
}

/// A use of a view by work that is [enqueued](Capture::enqueue).
#[derive(Clone, Copy, Debug)]
pub struct Use<'v> {
    pub(super) capture: u64,
    pub(super) region: usize,
    pub(super) writes: bool,
    view: PhantomData<&'v ()>,
}

impl<'c, T> CaptureView<'c, T> {
    pub(super) fn new(capture: &'c Capture<'c>, region: usize, elements: usize) -> Self {
        Self { capture, region, elements, element: PhantomData }
    }

    /// Elements.
    #[must_use]
    pub fn len(&self) -> usize {
        self.elements
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.elements == 0
    }

    /// Its address on the device, for arguments of kernels. In a dry run it is one at which there is no
    /// memory.
    #[must_use]
    pub fn device_pointer(&self) -> u64 {
        self.capture.address(self.region)
    }

    /// Says that work reads it.
    #[must_use]
    pub fn read(&self) -> Use<'_> {
        self.to_use(false)
    }

    /// Says that work writes it, or reads and writes.
    #[must_use]
    pub fn write(&mut self) -> Use<'_> {
        self.to_use(true)
    }

    pub(super) fn bytes(&self) -> usize {
        // Checked when the view was made.
        self.elements * size_of::<T>()
    }

    pub(super) fn to_use(&self, writes: bool) -> Use<'_> {
        let capture = self.capture.id();
        Use { capture, region: self.region, writes, view: PhantomData }
    }
}

impl<T> Drop for CaptureView<'_, T> {
    fn drop(&mut self) {
        self.capture.record.release(self.region);
    }
}

impl<T> fmt::Debug for CaptureView<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CaptureView")
            .field("address", &format_args!("{:#x}", self.device_pointer()))
            .field("elements", &self.elements)
            .finish_non_exhaustive()
    }
}
