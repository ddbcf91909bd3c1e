//! Faulty backends with deferred memory. A queue accesses only its own buffers and records attempts
//! to access other memory, so a faulty backend cannot do any harm.

use std::borrow::{Borrow, BorrowMut};
use std::cell::{Cell, RefCell};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::thread::panicking;

use pool_core::bytemuck::bytes_of;
use pool_core::{Advice, Element, PoolBackend, Reuse, SlotRef};

use super::mistake::Mistake;
use crate::adapted::{AdaptedBackend, AdaptedError, Adaptor};
use crate::adapted_probe::AdaptedProbe;
use crate::deferred::{
    AnySlot, Command, DeferredBackend, DeferredBlock, DeferredProbe, DeferredView, DeferredViewRef,
    KeptShape, Queue, ViewFlaw, elements_bytes,
};
use crate::ledger::RefusalError;
use crate::sources::Source;

/// The probe for faulty backends with deferred memory.
pub(super) type FaultyDeferredProbe = AdaptedProbe<DeferredProbe, FaultyDeferred, Mistake>;

/// A queue with a backend that makes a deliberate mistake.
pub(super) struct FaultyDeferred {
    queue: Queue,
    mistake: Mistake,
    /// The command to enqueue later or the last command enqueued, depending on the mistake.
    kept: RefCell<Option<Command>>,
    was_refused: Cell<bool>,
    fills: Cell<usize>,
}

impl From<(Queue, Mistake)> for FaultyDeferred {
    fn from((queue, mistake): (Queue, Mistake)) -> Self {
        queue.lane().flaw.set(flaw(mistake));
        Self {
            queue,
            mistake,
            kept: RefCell::default(),
            was_refused: Cell::new(false),
            fills: Cell::new(0),
        }
    }
}

/// Returns the backend's mistake if it concerns views.
fn flaw(mistake: Mistake) -> ViewFlaw {
    match mistake {
        Mistake::PartsLate => ViewFlaw::PartsLate,
        Mistake::LendsStart => ViewFlaw::LendsStart,
        Mistake::SplitsAnywhere => ViewFlaw::SplitsAnywhere,
        Mistake::ViewsFillEarly => ViewFlaw::FillsEarly,
        Mistake::ViewsReadEarly => ViewFlaw::ReadsEarly,
        Mistake::CopiesShort => ViewFlaw::CopiesShort,
        Mistake::CopiesWhenRead => ViewFlaw::CopiesWhenRead,
        Mistake::CopiesAcrossEarly => ViewFlaw::CopiesAcrossEarly,
        Mistake::CopiesAnyLength => ViewFlaw::CopiesAnyLength,
        _ => ViewFlaw::Nothing,
    }
}

type BackendResult = Result<(), RefusalError>;

impl FaultyDeferred {
    fn run(&self, command: Command) -> BackendResult {
        self.queue.lane().run(command);
        Ok(())
    }

    fn push(&self, command: Command) -> BackendResult {
        self.queue.lane().push(command);
        Ok(())
    }

    /// Enqueues the stored command, and then stores `command` until the next call.
    fn push_next_time(&self, command: Command) -> BackendResult {
        match self.kept.replace(Some(command)) {
            Some(late) => self.push(late),
            None => Ok(()),
        }
    }

    fn set(&self, block: DeferredBlock, value: u8, bytes: usize) -> BackendResult {
        self.push(Command::Repeat { block, pattern: vec![value], bytes })
    }

    /// Returns the newest block, provided that it has `bytes` bytes and has not been freed.
    fn in_use(&self, bytes: usize) -> Option<DeferredBlock> {
        let is_it = |block: &DeferredBlock| {
            block.buffer().is_some_and(|buffer| buffer.bytes == bytes && buffer.is_live())
        };
        self.queue.newest().filter(is_it)
    }
}

// SAFETY: the backend's deliberate mistake is harmless because a queue accesses only the memory of
// its own buffers. Each view's slot belongs to a pool that uses this backend.
unsafe impl Adaptor for FaultyDeferred {
    type Inner = DeferredBackend;
    type Descriptor = FaultyShape;

    fn inner(&self) -> &Queue {
        &self.queue
    }

    fn allocate(&self, bytes: usize, advice: Advice) -> Result<DeferredBlock, AdaptedError<Self>> {
        let honestly = |bytes| DeferredBackend::allocate(&self.queue, bytes, advice);
        let given = match self.mistake {
            Mistake::Misaligned => {
                self.queue.lane().ledger.ask(bytes)?;
                Ok(self.queue.make_moved(bytes, 8))
            }
            Mistake::Shares => self.in_use(bytes).map_or_else(|| honestly(bytes), Ok),
            Mistake::TooSmall => honestly((bytes / 2).next_multiple_of(DeferredBackend::ALIGN)),
            Mistake::SwallowsRefusals => honestly(bytes).or_else(|_| Ok(self.queue.make(bytes))),
            Mistake::GivesLess => {
                honestly(bytes).or_else(|_| Ok(self.queue.make(DeferredBackend::ALIGN)))
            }
            Mistake::SwallowsPanics => catch_unwind(AssertUnwindSafe(|| honestly(bytes)))
                .unwrap_or(Err(RefusalError { bytes })),
            Mistake::StaysRefused if self.was_refused.get() => Err(RefusalError { bytes }),
            _ => honestly(bytes),
        };
        self.was_refused.set(given.is_err());
        given.map_err(AdaptedError::Inner)
    }

    unsafe fn free(&self, block: DeferredBlock, bytes: usize) {
        // SAFETY: `DeferredBackend::free` enqueues nothing until the ledger, which records every
        // block, has confirmed the block and its size.
        let honestly = |bytes| unsafe { DeferredBackend::free(&self.queue, block, bytes) };
        match self.mistake {
            Mistake::LeaksAll => {}
            Mistake::LeaksLarge if bytes > 64 << 10 => {}
            Mistake::FreesTwice => {
                honestly(bytes);
                honestly(bytes);
            }
            Mistake::FreesOtherBytes => honestly(bytes + DeferredBackend::ALIGN),
            Mistake::FreesEarly => {
                if self.queue.lane().ledger.freeing(block.address(), bytes) {
                    self.queue.lane().run(Command::Free { block });
                }
            }
            Mistake::FreesLate => {
                if self.queue.lane().ledger.freeing(block.address(), bytes) {
                    let late = self.kept.replace(Some(Command::Free { block }));
                    late.into_iter().for_each(|late| self.queue.lane().push(late));
                }
            }
            _ => honestly(bytes),
        }
        // A panic during another panic would abort the process.
        assert!(self.mistake != Mistake::FreeUnwinds || panicking(), "free unwinds");
    }

    fn settle(&self) {
        match self.mistake {
            Mistake::SettlesNothing => {}
            Mistake::SettlesSome => self.queue.lane().run_some(2),
            _ => DeferredBackend::settle(&self.queue),
        }
        assert!(self.mistake != Mistake::SettleUnwinds || panicking(), "settle unwinds");
    }

    unsafe fn view<'s, T: Element>(
        block: DeferredBlock,
        slot: SlotRef<AdaptedBackend<Self>>,
        length: usize,
    ) -> DeferredView<'s, T> {
        // SAFETY: the caller is creating a view, and guarantees that the slot belongs to that view.
        let mistake = unsafe { slot.context() }.mistake;
        let short =
            mistake == Mistake::ShortViews || (mistake == Mistake::ShortLongViews && length > 100);
        // SAFETY: the caller guarantees everything that the called methods require.
        unsafe {
            DeferredView::new(block, AnySlot::new(slot), length - usize::from(short).min(length))
        }
    }

    unsafe fn view_ref<'s, T: Element>(
        block: DeferredBlock,
        slot: SlotRef<AdaptedBackend<Self>>,
        length: usize,
    ) -> DeferredViewRef<'s, T> {
        // SAFETY: the caller is creating a view, and guarantees that the slot belongs to that view.
        let mistake = unsafe { slot.context() }.mistake;
        let short = usize::from(mistake == Mistake::ShortSharedViews).min(length);
        // SAFETY: the caller guarantees everything that the called method requires. A queue records
        // any access outside the block.
        let view = unsafe { DeferredViewRef::new(block, length - short) };
        if mistake == Mistake::LateSharedViews { view.moved_by(size_of::<T>()) } else { view }
    }

    unsafe fn reuse(&self, block: DeferredBlock, why: Reuse) -> BackendResult {
        match (self.mistake, why) {
            (Mistake::IgnoresReuse, _)
            | (Mistake::ReusesForHandOut, Reuse::Free)
            | (Mistake::ReusesForFree, Reuse::HandOut) => Ok(()),
            // SAFETY: the caller upholds the contract of `reuse`. The inner backend imposes no
            // further requirements.
            _ => unsafe { DeferredBackend::reuse(&self.queue, block, why) },
        }
    }

    unsafe fn set_bytes(&self, block: DeferredBlock, value: u8, bytes: usize) -> BackendResult {
        let command = |value, bytes| Command::Repeat { block, pattern: vec![value], bytes };
        match (self.mistake, value) {
            (Mistake::ZeroesEarly, 0) | (Mistake::PoisonsEarly, 1..) => {
                self.run(command(value, bytes))
            }
            (Mistake::ZeroesLate, 0) => self.push_next_time(command(value, bytes)),
            (Mistake::ZeroesStop, 0) => self.set(block, value, bytes.min(8 << 10)),
            (Mistake::ZeroesBeyond, 0) => self.set(block, value, bytes + 128),
            (Mistake::ZeroesOddly, 0) if bytes % 2 == 1 && bytes > 64 => {
                self.set(block, value, bytes - 1)
            }
            (Mistake::LongZeroesFail, 0) if bytes > 32 << 10 => Ok(()),
            (Mistake::ZeroesOnce, 0) => {
                let last = self.kept.replace(Some(command(0, bytes)));
                let is_same = last.is_some_and(|last| last.repeats(block, &[0]));
                if is_same { Ok(()) } else { self.set(block, value, bytes) }
            }
            (Mistake::ZeroesAlways, _) => self.set(block, 0, bytes),
            (Mistake::ZeroEndsInOnes, 0) if bytes > 0 => {
                self.set(block, value, bytes)?;
                self.push(Command::Write { block, offset: bytes - 1, bytes: vec![1] })
            }
            _ => self.set(block, value, bytes),
        }
    }

    unsafe fn fill<T: Element>(
        &self,
        block: DeferredBlock,
        value: T,
        length: usize,
    ) -> BackendResult {
        let (size, pattern) = (size_of::<T>(), bytes_of(&value).to_vec());
        let command = |length: usize| Command::Repeat {
            block,
            pattern: pattern.clone(),
            bytes: size * length,
        };
        let at_most = |bytes: usize| length.min(bytes / size.max(1));
        match self.mistake {
            Mistake::FillsEarly => self.run(command(length)),
            Mistake::FillsLate => self.push_next_time(command(length)),
            Mistake::FillsStop => self.push(command(at_most(8 << 10))),
            Mistake::LongFillsStop if size == 16 => self.push(command(at_most(512 << 10))),
            Mistake::ForgetsAfterMany => {
                self.fills.set(self.fills.get() + 1);
                if self.fills.get() > 1_000 { Ok(()) } else { self.push(command(length)) }
            }
            Mistake::FillsOvertake => {
                self.queue.lane().push_before_last(command(length));
                Ok(())
            }
            Mistake::HalvesLong if size == 2 && length > 65_536 => self.push(Command::Repeat {
                block,
                pattern: pattern[..1].to_vec(),
                bytes: 2 * length,
            }),
            Mistake::AllButLast => self.push(command(length.saturating_sub(1))),
            Mistake::ThreeTooMany => self.push(command(length + 3)),
            Mistake::WrongTwelve if size == 12 => self.push(Command::Repeat {
                block,
                pattern: pattern[..8].to_vec(),
                bytes: 12 * length,
            }),
            Mistake::SkipsEqual => {
                let last = self.kept.replace(Some(command(length)));
                let is_same = last.is_some_and(|last| last.repeats(block, &pattern));
                if is_same { Ok(()) } else { self.push(command(length)) }
            }
            _ => self.push(command(length)),
        }
    }

    unsafe fn copy_from_host<T: Element>(
        &self,
        block: DeferredBlock,
        source: &[T],
    ) -> BackendResult {
        let mut bytes = elements_bytes(source).to_vec();
        match self.mistake {
            Mistake::UploadsStop => bytes.truncate(64 << 10),
            Mistake::WholeWords => bytes.truncate(bytes.len() / 4 * 4),
            Mistake::LosesLastOf4096 if bytes.len() == 4096 => bytes.truncate(4095),
            Mistake::UploadsReadLate => {
                if let Some(source) = Source::at(source.as_ptr().addr()) {
                    return self.push(Command::WriteFrom { block, source });
                }
            }
            _ => {}
        }
        let block = match self.mistake {
            Mistake::MixesQueues if bytes.len() < 16 => self.queue.newest().unwrap_or(block),
            _ => block,
        };
        let command = Command::Write { block, offset: 0, bytes };
        match self.mistake {
            Mistake::UploadsEarly => self.run(command),
            Mistake::UploadsLate => self.push_next_time(command),
            _ => self.push(command),
        }
    }
}

thread_local! {
    static ARE_STALE: Cell<bool> = const { Cell::new(false) };
    static LAST: RefCell<KeptShape> = RefCell::default();
}

/// Sets whether each new descriptor starts as a copy of the previous one (`true`) or starts empty
/// (`false`).
pub(super) fn keep_stale_shapes(on: bool) {
    ARE_STALE.set(on);
}

/// A descriptor. To return stale shapes deliberately, the backend copies the previous descriptor
/// into each new one.
pub(super) struct FaultyShape(KeptShape);

impl Default for FaultyShape {
    fn default() -> Self {
        Self(if ARE_STALE.get() {
            LAST.with_borrow(KeptShape::clone)
        } else {
            KeptShape::default()
        })
    }
}

impl Drop for FaultyShape {
    fn drop(&mut self) {
        LAST.set(std::mem::take(&mut self.0));
    }
}

impl Borrow<KeptShape> for FaultyShape {
    fn borrow(&self) -> &KeptShape {
        &self.0
    }
}

impl BorrowMut<KeptShape> for FaultyShape {
    fn borrow_mut(&mut self) -> &mut KeptShape {
        &mut self.0
    }
}
