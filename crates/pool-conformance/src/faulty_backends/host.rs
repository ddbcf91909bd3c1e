//! Faulty backends for host memory. Each faulty backend with host memory adds a ledger and wraps
//! either the heap backend or the toy backend. A backend whose views are slices can make the same
//! mistakes as a backend with a queue. Faulty backends with host memory never access memory outside
//! their blocks.

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::thread::panicking;

use pool_core::{Advice, Element, HostBackend, PoolBackend, SlotRef};

use super::mistake::Mistake;
use crate::adapted::{AdaptedBackend, AdaptedError, Adaptor, InnerError, unused_slot};
use crate::ledger::RefusalError;

/// The context of a host memory backend that makes a deliberate mistake.
pub(super) struct FaultyHost<B: PoolBackend> {
    context: B::Context,
    mistake: Mistake,
    was_refused: Cell<bool>,
}

impl<B: PoolBackend> From<(B::Context, Mistake)> for FaultyHost<B> {
    fn from((context, mistake): (B::Context, Mistake)) -> Self {
        Self { context, mistake, was_refused: Cell::new(false) }
    }
}

type BackendResult<B> = Result<(), <B as PoolBackend>::Error>;

// SAFETY: the backend's only deliberate mistake is to omit work that the contract requires. The
// backend's views are slices.
unsafe impl<B: HostBackend> Adaptor for FaultyHost<B> {
    type Inner = B;
    type Descriptor = B::Descriptor;

    fn inner(&self) -> &B::Context {
        &self.context
    }

    fn allocate(&self, bytes: usize, advice: Advice) -> Result<B::Block, AdaptedError<Self>> {
        if self.mistake == Mistake::StaysRefused && self.was_refused.get() {
            return Err(RefusalError { bytes }.into());
        }
        let given = B::allocate(&self.context, bytes, advice);
        self.was_refused.set(given.is_err());
        given.map_err(AdaptedError::Inner)
    }

    unsafe fn free(&self, block: B::Block, bytes: usize) {
        // SAFETY: the caller upholds the contract of `free`. If a faulty call violates the
        // contract, the inner backend's ledger detects it, and nothing is freed.
        let honestly = |bytes| unsafe { B::free(&self.context, block, bytes) };
        match self.mistake {
            Mistake::LeaksAll => {}
            Mistake::FreesTwice => {
                honestly(bytes);
                honestly(bytes);
            }
            Mistake::FreesOtherBytes => {
                // A second panic during a panic would abort the process.
                match catch_unwind(AssertUnwindSafe(|| honestly(bytes + B::ALIGN))) {
                    Err(payload) if !panicking() => resume_unwind(payload),
                    _ => {}
                }
            }
            _ => honestly(bytes),
        }
        assert!(self.mistake != Mistake::FreeUnwinds || panicking(), "free unwinds");
    }

    fn settle(&self) {
        B::settle(&self.context);
        assert!(self.mistake != Mistake::SettleUnwinds || panicking(), "settle unwinds");
    }

    unsafe fn view<'s, T: Element>(
        block: B::Block,
        slot: SlotRef<AdaptedBackend<Self>>,
        length: usize,
    ) -> B::View<'s, T> {
        // SAFETY: the caller is creating a view, and guarantees that the slot belongs to that view.
        let mistake = unsafe { slot.context() }.mistake;
        let short =
            mistake == Mistake::ShortViews || (mistake == Mistake::ShortLongViews && length > 100);
        let length = length - usize::from(short).min(length);
        // SAFETY: the caller guarantees everything that the called method requires. The views are
        // slices and do not use their slot.
        unsafe { B::view(block, unused_slot(slot), length) }
    }

    unsafe fn view_ref<'s, T: Element>(
        block: B::Block,
        slot: SlotRef<AdaptedBackend<Self>>,
        length: usize,
    ) -> B::ViewRef<'s, T> {
        // SAFETY: the caller is creating a view, and guarantees that the slot belongs to that view.
        let mistake = unsafe { slot.context() }.mistake;
        let length = length - usize::from(mistake == Mistake::ShortSharedViews).min(length);
        // SAFETY: the caller guarantees everything that the called method requires. The views are
        // slices and do not use their slot.
        unsafe { B::view_ref(block, unused_slot(slot), length) }
    }

    unsafe fn set_bytes(
        &self,
        block: B::Block,
        value: u8,
        bytes: usize,
    ) -> Result<(), InnerError<Self>> {
        let (value, bytes) = match self.mistake {
            Mistake::ZeroesStop => (value, bytes.min(8 << 10)),
            Mistake::ZeroesAlways => (0, bytes),
            _ => (value, bytes),
        };
        // SAFETY: the caller guarantees everything that the called method requires.
        unsafe { B::set_bytes(&self.context, block, value, bytes) }
    }

    unsafe fn fill<T: Element>(
        &self,
        block: B::Block,
        value: T,
        length: usize,
    ) -> BackendResult<B> {
        let length = match self.mistake {
            Mistake::FillsStop => length.min((8 << 10) / size_of::<T>().max(1)),
            Mistake::AllButLast => length.saturating_sub(1),
            _ => length,
        };
        // SAFETY: the caller guarantees everything that the called method requires.
        unsafe { B::fill(&self.context, block, value, length) }
    }

    unsafe fn copy_from_host<T: Element>(&self, block: B::Block, source: &[T]) -> BackendResult<B> {
        let size = size_of::<T>().max(1);
        let length = match self.mistake {
            Mistake::UploadsStop => source.len().min((64 << 10) / size),
            Mistake::WholeWords => source.len() * size / 4 * 4 / size,
            _ => source.len(),
        };
        // SAFETY: the caller guarantees everything that the called method requires.
        unsafe { B::copy_from_host(&self.context, block, &source[..length]) }
    }
}
