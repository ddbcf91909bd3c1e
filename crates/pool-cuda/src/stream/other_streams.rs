//! Streams other than the pool's that use its memory, and how they are ordered, without a destructor.
//!
//! Giving a pointer out for another stream makes that stream wait for the pool's, notes the stream
//! with the block, and arms the block's slot. Later, when the block is handed out again, freed, or used
//! on the pool's stream, an event is recorded on the noted stream *then*, behind whatever was enqueued
//! there meanwhile, and the pool's stream waits for it. So it does not matter when the work was
//! enqueued, nor whether a guard or view was dropped or forgotten.
//!
//! A note is kept until the block is handed out again or freed: until then work may still be enqueued with the
//! pointer that was given out. It goes earlier where the stream was waited for *after* nobody else had it, nor
//! could get it: see [`Foreign::seems_alone`].

use std::cell::{Cell, OnceCell};
use std::mem;
use std::ptr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use cudarc::driver::{CudaContext, CudaStream};

use crate::driver::calls::{self, Address, bind, unless_gone};
use crate::driver::capture::{Capture, capture_of};
use crate::driver::chain::Chain;
use crate::driver::error::CudaError;
use crate::driver::event::Event;
use crate::stream::block_uses::{Noted, Use, Uses};
use crate::stream::device_stream::{is_default, is_per_thread};

/// The streams that use blocks of one pool.
#[derive(Debug)]
pub(crate) struct ForeignUses {
    uses: Uses,
    /// An event of the pool's own context, made when it is first needed.
    event: OnceCell<Event>,
    on: Cell<bool>,
    /// The block whose stream cudarc asked for last, and how often since it was given a pointer.
    asked: Cell<(Address, u32)>,
}

/// Who uses a block.
#[derive(Clone, Debug)]
pub(crate) enum Foreign {
    /// A stream, kept alive as long as the note.
    Stream(Arc<CudaStream>),
    /// A stream that cannot be kept alive: what waits for it waits for its whole context.
    Somewhere(Arc<CudaContext>),
    /// A stream of another device, nobody knows which: what waits for it waits for all of them.
    OtherDevice,
}

/// A stream that memory is lent to.
pub(crate) struct Borrower<'a> {
    pub(crate) stream: &'a CudaStream,
    /// The same, as it is kept.
    pub(crate) by: Foreign,
    /// Whether it may become a part of the capture that the pool's stream is in.
    pub(crate) admitted: bool,
}

impl Foreign {
    /// Whether both are one stream, which orders its own work.
    fn is_the_stream(&self, other: &Self) -> bool {
        matches!((self, other), (Self::Stream(one), Self::Stream(two)) if one == two)
    }

    /// Where a stream lies that nobody else has, as far as can be told in passing.
    ///
    /// A stream has ended for a pool when the pool has the only reference to it, and no `Weak` is there that
    /// could become another. That is asked *before* the stream is waited for. Other threads may launch there
    /// and let the stream go at any time, and the three steps of theirs (launch, let go) and ours (ask, record
    /// an event) mix as follows:
    ///
    /// - *asked before it was let go*: it is kept, whether the launch came before the event or not, and is
    ///   waited for again when the block is next used;
    /// - *asked after it was let go*: so the launch came before, and the event, recorded after the question,
    ///   comes behind it.
    ///
    /// The other way round, a launch between event and question would be waited for by nobody.
    ///
    /// Default streams never end: everybody who asks gets another reference.
    pub(crate) fn seems_alone(&self) -> Option<*const CudaStream> {
        match self {
            Self::Stream(stream) if Arc::strong_count(stream) == 1 && !is_default(stream) => {
                Some(Arc::as_ptr(stream))
            }
            _ => None,
        }
    }

    /// Whether waiting for one is waiting for the other. Two unknown streams of one context may be two:
    /// they are waited for together, and not ordered.
    fn is_waited_for_with(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Somewhere(one), Self::Somewhere(two)) => one.cu_ctx() == two.cu_ctx(),
            (Self::OtherDevice, Self::OtherDevice) => true,
            _ => self.is_the_stream(other),
        }
    }
}

impl Default for ForeignUses {
    fn default() -> Self {
        Self {
            uses: Uses::default(),
            event: OnceCell::new(),
            on: Cell::new(true),
            asked: Cell::default(),
        }
    }
}

impl ForeignUses {
    pub(crate) fn set_on(&self, on: bool) {
        self.on.set(on);
    }

    /// Whether there is nothing to wait for: the usual case, which costs no more than this.
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.uses.is_empty()
    }

    /// Notes that cudarc asked which stream a block is on.
    pub(crate) fn note_question(&self, block: Address) {
        let (before, times) = self.asked.get();
        self.asked.set((block, if before == block { times.saturating_add(1) } else { 1 }));
    }

    /// Whether a pointer that cudarc asks for on the pool's own stream may be for another device.
    ///
    /// Its `memcpy_dtod` asks for the source's stream, and where that is of another context asks again,
    /// for the pointer on *that* stream, which it then waits for; that the destination's stream uses the
    /// memory it tells nobody. So whoever asks twice before a pointer may be copying to another device.
    pub(crate) fn may_be_for_another_device(&self, block: Address) -> bool {
        let (asked, times) = self.asked.take();
        asked == block && times > 1 && self.on.get()
    }

    /// Notes that some stream of another device uses a block.
    pub(crate) fn note_another_device(&self, block: Address) -> Result<(), CudaError> {
        self.note(Use { block, by: Foreign::OtherDevice, capture: None })
    }

    /// Makes `stream`, which is not the pool's `own`, come after all that `own` holds, and after all
    /// other streams that use the block; notes that it does so itself from now on.
    pub(crate) fn lend(
        &self,
        block: Address,
        to: Borrower<'_>,
        own: &CudaStream,
    ) -> Result<(), CudaError> {
        if !self.on.get() {
            return Ok(());
        }
        let ordered = self.order(block, &to, own);
        // Where the driver failed to order them, the host may wait instead, and the stream is then used.
        match ordered {
            Ok(capture) => self.note(Use { block, by: to.by, capture })?,
            Err(CudaError::Call { .. }) => self.note(Use { block, by: to.by, capture: None })?,
            Err(_) => {}
        }
        // cudarc chose the stream's context, asked for the pointer, and goes on with the stream's bare handle.
        ordered.map(drop).and(bind(to.stream.context()))
    }

    fn order(
        &self,
        block: Address,
        to: &Borrower<'_>,
        own: &CudaStream,
    ) -> Result<Capture, CudaError> {
        let Borrower { stream, by, admitted } = to;
        let capture = capture_of(own)?;
        if !admitted && capture_of(stream)? != capture {
            return Err(CudaError::Capturing { operation: "order another stream with its own" });
        }
        // What a stream did before a capture is no part of the graph, not even where it is its own work.
        let is_in_order = |used: &Use| used.by.is_the_stream(by) && used.capture == capture;
        self.join_where(own, |used| used.block == block && !is_in_order(used))?;
        if is_per_thread(stream) {
            return wait_for_every_thread(own, capture);
        }
        let event = self.event(own.context())?;
        event.record(own)?;
        event.hold_back(stream)?;
        Ok(capture)
    }

    fn note(&self, new: Use) -> Result<(), CudaError> {
        let is_known = |used: &Use| {
            used.block == new.block
                && used.capture == new.capture
                && used.by.is_waited_for_with(&new.by)
        };
        if self.uses.any(is_known) { Ok(()) } else { self.uses.add(new) }
    }

    /// Makes the pool's stream `own` come after all other streams that use the block.
    pub(crate) fn join(&self, block: Address, own: &CudaStream) -> Result<(), CudaError> {
        self.join_where(own, |used| used.block == block)
    }

    /// Makes the pool's stream `own` come after all other streams that use any block.
    pub(crate) fn join_all(&self, own: &CudaStream) -> Result<(), CudaError> {
        let capture = capture_of(own)?;
        let mut from = 0;
        while let Some(Noted { number, used, .. }) = self.uses.next(from, |_| true) {
            let is_like_it = |before: &Use| {
                before.capture == used.capture && before.by.is_waited_for_with(&used.by)
            };
            if !self.uses.any_before(number, is_like_it) {
                unless_gone(self.join_one(&used, own, capture))?;
            }
            from = number + 1;
        }
        Ok(())
    }

    /// As [`join`](Self::join), when nobody can enqueue anything with the block any more.
    pub(crate) fn settle(&self, block: Address, own: &CudaStream) -> Result<(), CudaError> {
        self.join(block, own)?;
        self.forget(block);
        Ok(())
    }

    /// Whether all who use a block do so in a context.
    pub(crate) fn are_within(&self, block: Address, context: &CudaContext) -> bool {
        let is_elsewhere = |by: &Foreign| match by {
            Foreign::Stream(stream) => stream.context().cu_ctx() != context.cu_ctx(),
            Foreign::Somewhere(theirs) => theirs.cu_ctx() != context.cu_ctx(),
            Foreign::OtherDevice => true,
        };
        !self.uses.any(|used| used.block == block && is_elsewhere(&used.by))
    }

    /// Forgets who used a block.
    pub(crate) fn forget(&self, block: Address) {
        while let Some(noted) = self.uses.next(0, |used| used.block == block) {
            self.uses.remove(noted.number);
        }
    }

    fn join_where(&self, own: &CudaStream, wanted: impl Fn(&Use) -> bool) -> Result<(), CudaError> {
        if !self.uses.any(&wanted) {
            return Ok(());
        }
        let capture = capture_of(own)?;
        let mut from = 0;
        while let Some(Noted { number, used, is_ended }) = self.uses.next(from, &wanted) {
            unless_gone(self.join_one(&used, own, capture))?;
            if capture.is_none() && is_ended {
                self.uses.remove(number);
            }
            from = number + 1;
        }
        // A stream of another context may have been waited for, or dropped.
        bind(own.context())
    }

    fn join_one(&self, used: &Use, own: &CudaStream, capture: Capture) -> Result<(), CudaError> {
        let refused = Err(CudaError::Capturing { operation: "wait for another stream" });
        if capture.is_some() && capture != used.capture {
            return refused;
        }
        match &used.by {
            Foreign::Stream(stream) if capture_of(stream)? != capture => refused,
            Foreign::Stream(stream) if stream.context().cu_ctx() == own.context().cu_ctx() => {
                let event = self.event(own.context())?;
                event.record(stream)?;
                event.hold_back(own)
            }
            Foreign::Stream(stream) => wait_across_contexts(stream, own),
            _ if capture.is_some() => refused,
            Foreign::Somewhere(context) => calls::synchronize_context(context),
            Foreign::OtherDevice => calls::synchronize_other_devices(own.context().cu_device()),
        }
    }

    fn event(&self, context: &Arc<CudaContext>) -> Result<&Event, CudaError> {
        if let Some(event) = self.event.get() {
            return Ok(event);
        }
        let event = Event::new(context)?;
        Ok(self.event.get_or_init(|| event))
    }
}

/// Waits, on the host, for a pool's stream: what comes then is behind it on whichever thread's default stream
/// it is, and who has the pointer may send it to another thread.
fn wait_for_every_thread(own: &CudaStream, capture: Capture) -> Result<Capture, CudaError> {
    if capture.is_some() {
        return Err(CudaError::Capturing { operation: "wait for its stream" });
    }
    calls::synchronize(own).map(|()| capture)
}

/// Makes a stream wait for one of another context. Only an event of its own context can be recorded on a
/// stream; any stream can wait for it.
fn wait_across_contexts(stream: &CudaStream, own: &CudaStream) -> Result<(), CudaError> {
    let event = Event::new(stream.context())?;
    event.record(stream)?;
    event.hold_back(own)
}

/// The streams that were announced, by the place where they lie. Locked for a look, and for linking and
/// unlinking.
static ANNOUNCED: Mutex<Chain<Weak<CudaStream>>> = Mutex::new(Chain::new());

/// The place of a stream among the announced, out of the list.
pub(crate) struct Announced(Chain<Weak<CudaStream>>);

fn announced() -> MutexGuard<'static, Chain<Weak<CudaStream>>> {
    ANNOUNCED.lock().unwrap_or_else(PoisonError::into_inner)
}

fn is_here(known: &Weak<CudaStream>, stream: &CudaStream) -> bool {
    ptr::eq(known.as_ptr(), stream)
}

/// Lets pools keep a stream alive when they get no more than a reference to it.
///
/// cudarc's traits pass streams as `&CudaStream`. A stream that was announced is kept alive for as long
/// as a pool must be able to wait for it. Pools announce their own streams, and those that
/// [`DeviceView::on`](crate::DeviceView::on) and [`record_use`](crate::record_use) get. For any other
/// stream a pool must wait, on the host, for all work of the context before it hands the memory out
/// again, and before yet another stream uses it: correct, and slow; and refused by the driver, and
/// spoiling it, while anything in the context is captured. Where the host has no memory for the note, the
/// stream is not announced.
pub fn announce(stream: &Arc<CudaStream>) {
    if announced().iter().any(|known| is_here(known, stream)) {
        return;
    }
    let Ok(mut link) = Chain::of(Arc::downgrade(stream)) else { return };
    let ended = {
        let mut announced = announced();
        let ended = announced.unlink(|known| known.strong_count() == 0);
        // Another thread may have been faster.
        if !announced.iter().any(|known| is_here(known, stream)) {
            announced.add(mem::take(&mut link));
        }
        ended
    };
    drop((ended, link));
}

/// Takes a stream from among the announced: no reference to it is there any more, and until it is
/// [put back](Announced::put_back) a pool that gets one to keep does not know it.
pub(crate) fn unannounce(stream: *const CudaStream) -> Announced {
    let mut links = announced().unlink(|known| known.as_ptr() == stream);
    links.iter_mut().for_each(|known| *known = Weak::new());
    Announced(links)
}

impl Announced {
    /// Announces it again.
    pub(crate) fn put_back(mut self, stream: &Arc<CudaStream>) {
        self.0.iter_mut().for_each(|known| *known = Arc::downgrade(stream));
        announced().add(mem::take(&mut self.0));
    }
}

/// What can be kept of a stream that is borrowed.
///
/// A weak reference keeps the place where its stream lies, so no other stream comes to lie there; and a
/// stream that was moved out of its `Arc` lies elsewhere. So the stream of an entry with this address is
/// this stream.
pub(crate) fn keep(stream: &CudaStream) -> Foreign {
    let shared = announced().iter().find(|known| is_here(known, stream)).and_then(Weak::upgrade);
    match shared {
        Some(stream) if !is_per_thread(&stream) => Foreign::Stream(stream),
        _ => Foreign::Somewhere(Arc::clone(stream.context())),
    }
}

/// What is kept of a stream that is shared.
pub(crate) fn keep_shared(stream: &Arc<CudaStream>) -> Foreign {
    if is_per_thread(stream) {
        // Another stream on another thread, where the pool may be when it waits.
        return Foreign::Somewhere(Arc::clone(stream.context()));
    }
    announce(stream);
    Foreign::Stream(Arc::clone(stream))
}
