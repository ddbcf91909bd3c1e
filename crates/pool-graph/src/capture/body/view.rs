//! Views of a body's temporaries and of memory that the graph retains. A view borrows the capture,
//! so it cannot outlive the body.

use std::fmt;
use std::marker::PhantomData;
use std::ops::Deref;

use pool_core::{Element, PodElement};

use super::call_site::CallSite;
use super::capture::Capture;
use super::memory_use::Use;
use super::names::CaptureStream;
use crate::base::block::GraphMemoryBlock;
use crate::base::request::GRANULE;
use crate::capture::error::CaptureError;
use crate::capture::memory::check_block;
use crate::capture::owned_memory::{OwnedName, OwnedSlice, OwnedSliceMut, find_owned};

/// A view of device memory in a capture's body. The memory is either a temporary or a block that
/// the graph retains. A temporary's bytes may be reused after its view is dropped.
///
/// A view stores an address and a length. When the view is dropped, its memory is no longer in use.
#[must_use]
pub struct CaptureView<'c, T> {
    pub(crate) capture: &'c Capture<'c>,
    pub(crate) region: usize,
    pub(crate) elements: usize,
    element: PhantomData<*mut T>,
}

impl<'c, T> CaptureView<'c, T> {
    pub(crate) fn new(capture: &'c Capture<'c>, region: usize, elements: usize) -> Self {
        Self { capture, region, elements, element: PhantomData }
    }

    /// Returns the number of elements in the view.
    #[must_use]
    pub fn len(&self) -> usize {
        self.elements
    }

    /// Returns `true` if the view has no elements.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.elements == 0
    }

    /// Returns the view's device address, which can be passed to kernels. In a dry run, no memory
    /// exists at this address.
    #[must_use]
    pub fn address(&self) -> u64 {
        self.capture.account.open().address(self.region)
    }

    /// Declares that enqueued work reads the view.
    #[must_use]
    pub fn read(&self) -> Use<'_> {
        self.to_use(false)
    }

    /// Declares that enqueued work writes to the view and may also read it.
    #[must_use]
    pub fn write(&mut self) -> Use<'_> {
        self.to_use(true)
    }

    pub(crate) fn bytes(&self) -> usize {
        // This multiplication cannot overflow, because the size was checked when the view was
        // created.
        self.elements * size_of::<T>()
    }

    pub(crate) fn to_use(&self, writes: bool) -> Use<'_> {
        let capture = self.capture.account.open().number();
        Use { capture, region: self.region, writes, view: PhantomData }
    }
}

/// The size of a temporary: either a number of elements (`usize`), or a stream and a number of
/// elements (`(CaptureStream, usize)`). If a stream is given, the temporary is first used on that
/// stream.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not the size of a temporary",
    label = "not a size",
    note = "sizes are: `usize` for the number of elements; `(CaptureStream, usize)` to set the stream of their first use"
)]
pub trait Temporary: sealed::Temporary {}

mod sealed {
    use super::CaptureStream;

    pub trait Temporary {
        /// Returns the stream of the first use and the number of elements. The stream is `None` if
        /// the first use is on the session's first stream.
        fn stream_and_elements(self) -> (Option<CaptureStream>, usize);
    }
}

impl Temporary for usize {}

impl sealed::Temporary for usize {
    fn stream_and_elements(self) -> (Option<CaptureStream>, usize) {
        (None, self)
    }
}

impl Temporary for (CaptureStream, usize) {}

impl sealed::Temporary for (CaptureStream, usize) {
    fn stream_and_elements(self) -> (Option<CaptureStream>, usize) {
        (Some(self.0), self.1)
    }
}

impl<'c> Capture<'c> {
    /// Acquires a temporary with `elements` elements. The first use of the temporary must be on the
    /// session's first stream, or must follow the current work on that stream. To first use the
    /// temporary on another stream, pass `(stream, elements)`. The temporary's contents are
    /// unspecified.
    ///
    /// # Errors
    ///
    /// Returns an error if the arena is full, or if this allocation differs from the arena's plan.
    /// Returns an error if the stream belongs to another session, or if the size exceeds the
    /// address space.
    #[track_caller]
    pub fn acquire<T: PodElement>(
        &'c self,
        temporary: impl Temporary,
    ) -> Result<CaptureView<'c, T>, CaptureError> {
        let (stream, elements) = temporary.stream_and_elements();
        let stream = stream.unwrap_or_else(|| self.main());
        let stream = self.check(stream)?;
        let bytes = rounded::<T>(elements)?;
        let region = {
            let mut account = self.account.open();
            account.begin(stream)?;
            account.acquire(stream, bytes, CallSite::of("acquire"))?
        };
        Ok(CaptureView::new(self, region, elements))
    }

    /// Returns a view of a pool's block. The graph can use this block to share data with other
    /// code. The view contains all elements that fit entirely into the block.
    ///
    /// # Errors
    ///
    /// Returns [`CaptureError::NotLeased`] if none of the session's leases contain the block, or
    /// [`CaptureError::WrongContext`] if the block belongs to another device.
    pub fn block<T: Element>(
        &'c self,
        block: &GraphMemoryBlock,
    ) -> Result<CaptureView<'c, T>, CaptureError> {
        let bytes = block.size();
        let region = {
            let mut account = self.account.open();
            check_block(self.kept.leases, block, bytes, account.streams()[0].context())?;
            account.region_of_block(block)
        };
        let elements = usize::try_from(bytes).unwrap_or(usize::MAX) / size_of::<T>().max(1);
        Ok(CaptureView::new(self, region, elements))
    }
}

/// A read-only view of memory that the session owns, for use in a capture's body.
///
/// A `SharedView` can be passed to any method that only reads a [`CaptureView`], but it provides no
/// method for writing.
///
/// ```compile_fail,E0596
/// # fn f(view: pool_graph::SharedView<'_, f32>) {
/// let mut view = view;
/// view.write(); // shared_view_is_not_written
/// # }
/// ```
///
/// ```compile_fail,E0596
/// # use pool_graph::{Capture, SharedView};
/// # fn f(capture: &Capture<'_>, mut view: SharedView<'_, f32>) {
/// capture.fill_bytes(capture.main(), &mut view, 0); // shared_view_is_not_filled
/// # }
/// ```
#[must_use]
pub struct SharedView<'c, T>(CaptureView<'c, T>);

impl<'c, T> Deref for SharedView<'c, T> {
    type Target = CaptureView<'c, T>;

    fn deref(&self) -> &CaptureView<'c, T> {
        &self.0
    }
}

/// A view that can be read: a [`CaptureView`] or a [`SharedView`].
pub trait ReadView<T>: read_view::ReadView<T> {}

mod read_view {
    use super::Use;

    pub trait ReadView<T> {
        /// Returns the view's address, its number of elements, and a declaration of read access to
        /// the view.
        fn parts(&self) -> (u64, usize, Use<'_>);
    }
}

impl<T> ReadView<T> for CaptureView<'_, T> {}

impl<T> read_view::ReadView<T> for CaptureView<'_, T> {
    fn parts(&self) -> (u64, usize, Use<'_>) {
        (self.address(), self.len(), self.read())
    }
}

impl<T> ReadView<T> for SharedView<'_, T> {}

impl<T> read_view::ReadView<T> for SharedView<'_, T> {
    fn parts(&self) -> (u64, usize, Use<'_>) {
        self.0.parts()
    }
}

impl<T> fmt::Debug for SharedView<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl<'c> Capture<'c> {
    /// Returns a read-only view of a slice that the session [owns](crate::CaptureSession::own).
    /// Streams that only read the slice do not wait for each other.
    ///
    /// # Errors
    ///
    /// Returns [`CaptureError::NotOwned`] if the slice belongs to another session.
    pub fn owned<T: Element>(
        &'c self,
        slice: &OwnedSlice<T>,
    ) -> Result<SharedView<'c, T>, CaptureError> {
        self.view_of_owned(&slice.name).map(SharedView)
    }

    /// Returns a view that can read and write a slice that the session
    /// [owns](crate::CaptureSession::own_mut).
    ///
    /// The capture orders all uses of the slice, and the verifier checks that the graph preserves
    /// this order.
    ///
    /// # Errors
    ///
    /// Returns the same errors as [`owned`](Self::owned).
    pub fn owned_mut<T: Element>(
        &'c self,
        slice: &OwnedSliceMut<T>,
    ) -> Result<CaptureView<'c, T>, CaptureError> {
        self.view_of_owned(&slice.name)
    }

    fn view_of_owned<T>(&'c self, name: &OwnedName) -> Result<CaptureView<'c, T>, CaptureError> {
        let place = find_owned(self.kept.owned, name)?;
        let is_written = self.kept.owned[place].is_written;
        let region = self.account.open().region_of_owned(place, name.range, is_written);
        Ok(CaptureView::new(self, region, name.elements))
    }
}

/// Returns the total size of the elements in bytes, rounded up to a multiple of the granule. The
/// result is at least one granule.
pub(super) fn rounded<T>(elements: usize) -> Result<u64, CaptureError> {
    let size = size_of::<T>();
    let overflow = CaptureError::SizeOverflow { elements, size };
    let bytes = elements.checked_mul(size).and_then(|bytes| u64::try_from(bytes).ok());
    let whole = bytes.and_then(|bytes| bytes.max(1).checked_next_multiple_of(GRANULE));
    whole.filter(|&bytes| i64::try_from(bytes).is_ok()).ok_or(overflow)
}

impl<T> Drop for CaptureView<'_, T> {
    fn drop(&mut self) {
        self.capture.account.open().release(self.region);
    }
}

impl<T> fmt::Debug for CaptureView<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CaptureView")
            .field("address", &format_args!("{:#x}", self.address()))
            .field("elements", &self.elements)
            .finish_non_exhaustive()
    }
}
