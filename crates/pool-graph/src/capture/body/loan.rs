//! Device views of a capture's memory, for code that uses only views and kernel launches. The
//! memory is either a temporary or a block that the graph retains.

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

/// A view of the capture's memory, lent to a stream. The loan provides device views. Launches and
/// copies can use a lent view together with views from a [scope](Capture::scope) on the same
/// stream.
///
/// While the loan exists, the capture's own operations cannot use the memory
/// ([`CaptureError::Lent`]), because the capture does not record how the views are used. When the
/// loan is dropped, the capture orders its later operations on the memory after all uses of the
/// loan's views. If the loan is passed to `mem::forget`, the memory stays lent until the capture
/// ends.
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
    // The pool must be dropped first, because it joins the other streams before the guard records
    // the use. Rust drops fields in declaration order.
    lender: Lender,
    handle: Handle<T>,
    _loan: LoanGuard<'v>,
}

/// A pool that can return only a single view.
struct Lender {
    pool: DynamicPool<Cuda>,
    account: SharedAccount,
}

/// Makes the pool's stream wait for the other streams that use the memory.
impl Drop for Lender {
    fn drop(&mut self) {
        if let Err(error) = end_uses(self.pool.context()) {
            self.account.open().note_error_of_drop(error.into());
        }
    }
}

impl Capture<'_> {
    /// Lends a view for use by operations that the capture cannot observe, such as launches and
    /// copies that use device views on a stream. The stream waits for earlier uses of the memory to
    /// finish, and then counts as one of its writers.
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
    /// Returns [`CaptureError::Lent`] if the memory is already lent, [`CaptureError::ForeignView`]
    /// if the view belongs to another capture, or the driver's error.
    pub fn lend<'v, T: PodElement>(
        &'v self,
        stream: CaptureStream,
        view: &'v mut CaptureView<'_, T>,
    ) -> Result<ViewLoan<'v, T>, CaptureError> {
        self.lend_use(stream, view.address(), view.len(), view.write())
    }

    /// Lends a read-only view of memory that the session owns. The same memory can be lent several
    /// times at once, on one or more streams.
    ///
    /// # Errors
    ///
    /// Returns the same errors as [`lend`](Self::lend).
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
        // SAFETY: only the value created here owns the pool. The pool returns a single view of the
        // region's elements and is dropped before the loan ends. Until the loan ends, the region is
        // marked as lent and its view is borrowed, so neither the capture nor any other pool can
        // use the region. A read-only region is not marked as lent. No mark is necessary, because a
        // `SharedLoan` provides no view for writing.
        let source = unsafe { FromView::new(&self.account, loan.place, address) };
        let context = DeviceStream::from_source(self.pool_stream(loan.place)?, source)?;
        let pool = DynamicPool::with_config(context, config())?;
        let mut lender = Lender { pool, account: self.account.clone() };
        let handle = lender.pool.try_acquire::<T>(elements)?;
        Ok(ViewLoan { lender, handle, _loan: loan })
    }
}

impl<T: PodElement> ViewLoan<'_, T> {
    /// Returns a shared device view of the elements.
    ///
    /// # Errors
    ///
    /// This method does not fail in practice, because the pool's array lives as long as the loan.
    pub fn view(&self) -> Result<DeviceView<'_, T>, CaptureError> {
        Ok(self.lender.pool.get(self.handle)?)
    }

    /// Returns an exclusive device view of the elements.
    ///
    /// # Errors
    ///
    /// This method does not fail in practice, because the pool's array lives as long as the loan.
    pub fn view_mut(&mut self) -> Result<DeviceViewMut<'_, T>, CaptureError> {
        Ok(self.lender.pool.get_mut(self.handle)?)
    }
}

/// A read-only loan of memory that the session owns. [`Capture::lend_shared`] creates a
/// `SharedLoan`.
#[must_use = "its drop ends the loan"]
pub struct SharedLoan<'v, T>(ViewLoan<'v, T>);

impl<T: PodElement> SharedLoan<'_, T> {
    /// Returns a read-only device view of the elements.
    ///
    /// # Errors
    ///
    /// This method does not fail in practice, because the pool's array lives as long as the loan.
    pub fn view(&self) -> Result<DeviceView<'_, T>, CaptureError> {
        self.0.view()
    }
}

impl<T> fmt::Debug for SharedLoan<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("SharedLoan").field(&self.0).finish()
    }
}

/// A guard that marks a region as lent. Dropping the guard ends the loan.
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
