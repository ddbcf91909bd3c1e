//! Device views of a capture's memory, of blocks that the graph keeps and of temporaries, for code
//! that uses views and launches alone.

use std::fmt;

use pool_core::{DynamicPool, Handle, PodElement};
use pool_cuda::{Cuda, DeviceStream, DeviceView, DeviceViewMut};

use super::capture::{Capture, Operation};
use super::memory_use::Use;
use super::names::CaptureStream;
use super::pools::config;
use super::scopes::end_uses;
use super::shared_account::SharedAccount;
use super::source::FromView;
use super::span::NodeOwner;
use super::view::{CaptureView, SharedView};
use crate::capture::error::CaptureError;

/// A view of the capture, lent to a stream. It gives device views, for launches and copies beside
/// those of a [scope](Capture::scope) on the same stream.
///
/// While it lives, the capture's own operations refuse the memory ([`CaptureError::Lent`]), because
/// the uses of the device views are not recorded. Its drop ends these uses, and later work of the
/// capture with the memory is ordered after them. If it is forgotten, the memory stays lent to the
/// end.
///
/// ```compile_fail,E0505
/// # use pool_cuda::DeviceViewMut;
/// # use pool_graph::{Capture, CaptureError};
/// # fn body(capture: &Capture<'_>) -> Result<(), CaptureError> {
/// let mut view = capture.acquire::<f32>(8)?;
/// let lent = capture.lend(capture.main(), &mut view)?;
/// drop(view); // view_dropped_while_it_is_lent
/// lent.view()?;
/// # Ok(())
/// # }
/// ```
///
/// ```compile_fail,E0505
/// # use pool_core::PoolViewMut;
/// # use pool_graph::{Capture, CaptureError};
/// # fn body(capture: &Capture<'_>) -> Result<(), CaptureError> {
/// let mut view = capture.acquire::<f32>(8)?;
/// let mut lent = capture.lend(capture.main(), &mut view)?;
/// let mut device = lent.view_mut()?;
/// drop(lent); // lent_view_kept
/// device.fill_with_value(1.0)?;
/// # Ok(())
/// # }
/// ```
#[must_use = "dropped, it lends nothing any more"]
pub struct ViewLoan<'v, T> {
    // In this order: the pool joins the other streams, then the use is recorded.
    lender: Lender,
    handle: Handle<T>,
    _loan: LoanGuard<'v>,
}

/// The pool of one view.
struct Lender {
    pool: DynamicPool<Cuda>,
    account: SharedAccount,
}

/// Orders the other streams with the memory before later work of the pool's stream.
impl Drop for Lender {
    fn drop(&mut self) {
        if let Err(error) = end_uses(self.pool.context()) {
            self.account.open().note_error_of_drop(error.into());
        }
    }
}

impl Capture<'_> {
    /// Lends a view to work on a stream that the capture does not see: launches and copies of
    /// device views. The stream is ordered after the memory's earlier users, and counts as its
    /// writer.
    ///
    /// ```no_run
    /// use pool_core::PoolViewMut;
    /// use pool_graph::{Capture, CaptureError, GraphMemoryBlock};
    ///
    /// fn body(capture: &Capture<'_>, block: &GraphMemoryBlock) -> Result<(), CaptureError> {
    ///     let main = capture.main();
    ///     let mut block = capture.block::<f32>(block)?;
    ///     let mut state = capture.lend(main, &mut block)?;
    ///     capture.scope(main, |scope| {
    ///         let mut next = scope.try_acquire::<f32, _>(state.view()?.len())?;
    ///         next.copy_from(state.view()?)?;
    ///         // … `scope.launch(&kernel).arg(&next).arg(&mut state.view_mut()?)` …
    ///         # state.view_mut()?.copy_from(next.as_view())?;
    ///         Ok(())
    ///     })
    /// }
    /// ```
    ///
    /// # Errors
    ///
    /// [`CaptureError::Lent`] if the memory is lent already, [`CaptureError::ForeignView`], and the
    /// driver's error code.
    pub fn lend<'v, T: PodElement>(
        &'v self,
        stream: CaptureStream,
        view: &'v mut CaptureView<'_, T>,
    ) -> Result<ViewLoan<'v, T>, CaptureError> {
        self.lend_use(stream, view.address(), view.len(), view.write())
    }

    /// Lends a view of memory that the session owns and only reads. The memory may be lent several
    /// times at once, on the same stream and on others.
    ///
    /// # Errors
    ///
    /// Same as [`lend`](Self::lend).
    pub fn lend_shared<'v, T: PodElement>(
        &'v self,
        stream: CaptureStream,
        view: &'v SharedView<'_, T>,
    ) -> Result<SharedLoan<'v, T>, CaptureError> {
        self.lend_use(stream, view.address(), view.len(), view.read()).map(SharedLoan)
    }

    fn lend_use<'v, T: PodElement>(
        &'v self,
        stream: CaptureStream,
        address: u64,
        elements: usize,
        of: Use<'v>,
    ) -> Result<ViewLoan<'v, T>, CaptureError> {
        let (uses, owner) = (&[of], NodeOwner::NOTHING);
        self.operation(&Operation { kind: "lend", stream, uses, owner }, |_| Ok(()))?;
        let loan = LoanGuard::new(self, stream, of)?;
        // SAFETY: the pool is private to the value that is created here, returns one view of the
        // region's elements, and is dropped before the loan ends. Until then the region is marked
        // as lent, so that neither the capture nor another pool uses it; its view is borrowed. A
        // region that is only read is not marked, and a `SharedLoan` gives no view that writes.
        let source = unsafe { FromView::new(&self.account, loan.place, address) };
        let context = DeviceStream::from_source(self.pool_stream(loan.place)?, source)?;
        let pool = DynamicPool::with_config(context, config())?;
        let mut lender = Lender { pool, account: self.account.clone() };
        let handle = lender.pool.try_acquire::<T>(elements)?;
        Ok(ViewLoan { lender, handle, _loan: loan })
    }
}

impl<T: PodElement> ViewLoan<'_, T> {
    /// Returns the elements as a shared view.
    ///
    /// # Errors
    ///
    /// No error is known: the array lives as long as this value.
    pub fn view(&self) -> Result<DeviceView<'_, T>, CaptureError> {
        Ok(self.lender.pool.get(self.handle)?)
    }

    /// Returns the elements as an exclusive view.
    ///
    /// # Errors
    ///
    /// Same as [`view`](Self::view).
    pub fn view_mut(&mut self) -> Result<DeviceViewMut<'_, T>, CaptureError> {
        Ok(self.lender.pool.get_mut(self.handle)?)
    }
}

/// A view of memory that the session owns and only reads, lent to a stream by
/// [`Capture::lend_shared`].
#[must_use = "its drop ends the loan"]
pub struct SharedLoan<'v, T>(ViewLoan<'v, T>);

impl<T: PodElement> SharedLoan<'_, T> {
    /// Returns a view that reads the elements.
    ///
    /// # Errors
    ///
    /// The same as [`ViewLoan::view`].
    pub fn view(&self) -> Result<DeviceView<'_, T>, CaptureError> {
        self.0.view()
    }
}

impl<T> fmt::Debug for SharedLoan<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("SharedLoan").field(&self.0).finish()
    }
}

/// A region that is lent, until this is dropped.
struct LoanGuard<'v> {
    capture: &'v Capture<'v>,
    place: usize,
    of: Use<'v>,
}

impl<'v> LoanGuard<'v> {
    fn new(
        capture: &'v Capture<'_>,
        stream: CaptureStream,
        of: Use<'v>,
    ) -> Result<Self, CaptureError> {
        let place = capture.check(stream)?;
        capture.account.open().lend(place, of.region)?;
        Ok(Self { capture, place, of })
    }
}

impl Drop for LoanGuard<'_> {
    fn drop(&mut self) {
        self.capture.account.open().end_loan(self.place, self.of);
    }
}

impl<T> fmt::Debug for ViewLoan<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ViewLoan").field("pool", &self.lender.pool).finish_non_exhaustive()
    }
}
