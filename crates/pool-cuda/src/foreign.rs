//! Streams other than the pool's that use its memory, and how they are ordered, without a destructor.
//!
//! Giving a pointer out for another stream makes that stream wait for the pool's, notes the stream
//! with the block, and arms the block's slot. Later, when the block is handed out again, freed, or used
//! on the pool's stream, an event is recorded on the noted stream *then*, behind whatever was enqueued
//! there meanwhile, and the pool's stream waits for it. So it does not matter when the work was
//! enqueued, nor whether a guard or view was dropped or forgotten. A note is kept until the block is
//! handed out again: until then work may still be enqueued with the pointer that was given out.

use std::cell::{Cell, OnceCell, RefCell};
use std::ptr;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use cudarc::driver::{CudaContext, CudaStream};

use crate::driver::{self, Address, bind};
use crate::error::CudaError;
use crate::event::Event;
use crate::stream::is_per_thread;

/// The streams that use blocks of one pool.
#[derive(Debug)]
pub(crate) struct ForeignUses {
    uses: RefCell<Vec<Use>>,
    /// An event of the pool's own context, made when it is first needed.
    event: OnceCell<Event>,
    on: Cell<bool>,
}

#[derive(Debug)]
struct Use {
    block: Address,
    by: Foreign,
}

/// Who uses a block.
#[derive(Clone, Debug)]
pub(crate) enum Foreign {
    /// A stream, kept alive until it was waited for.
    Stream(Arc<CudaStream>),
    /// A stream that cannot be kept alive: what waits for it waits for its whole context.
    Somewhere(Arc<CudaContext>),
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
    fn is(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Stream(one), Self::Stream(two)) => one == two,
            (Self::Somewhere(one), Self::Somewhere(two)) => one.cu_ctx() == two.cu_ctx(),
            _ => false,
        }
    }
}

impl Default for ForeignUses {
    fn default() -> Self {
        Self { uses: RefCell::default(), event: OnceCell::new(), on: Cell::new(true) }
    }
}

impl ForeignUses {
    pub(crate) fn set_on(&self, on: bool) {
        self.on.set(on);
    }

    /// Whether there is nothing to wait for: the usual case, which costs no more than this.
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.uses.borrow().is_empty()
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
        if matches!(ordered, Ok(()) | Err(CudaError::Call { .. })) {
            self.note(block, to.by);
        }
        ordered
    }

    fn order(&self, block: Address, to: &Borrower<'_>, own: &CudaStream) -> Result<(), CudaError> {
        let Borrower { stream, by, admitted } = to;
        bind(own.context())?;
        if !admitted && driver::is_capturing(stream)? != driver::is_capturing(own)? {
            return Err(CudaError::Capturing { operation: "order another stream with its own" });
        }
        self.join_where(own, |used| used.block == block && !used.by.is(by))?;
        let event = self.event(own.context())?;
        event.record(own)?;
        event.hold_back(stream)
    }

    fn note(&self, block: Address, by: Foreign) {
        let mut uses = self.uses.borrow_mut();
        if !uses.iter().any(|used| used.block == block && used.by.is(&by)) {
            uses.push(Use { block, by });
        }
    }

    /// Makes the pool's stream `own` come after all other streams that use the block.
    pub(crate) fn join(&self, block: Address, own: &CudaStream) -> Result<(), CudaError> {
        self.join_where(own, |used| used.block == block)
    }

    /// Makes the pool's stream `own` come after all other streams that use any block.
    pub(crate) fn join_all(&self, own: &CudaStream) -> Result<(), CudaError> {
        let mut seen: Vec<Foreign> = Vec::new();
        for used in &*self.uses.borrow() {
            if !seen.iter().any(|by| by.is(&used.by)) {
                self.join_one(&used.by, own)?;
                seen.push(used.by.clone());
            }
        }
        Ok(())
    }

    /// As [`join`](Self::join), when nobody can enqueue anything with the block any more.
    pub(crate) fn settle(&self, block: Address, own: &CudaStream) -> Result<(), CudaError> {
        self.join(block, own)?;
        self.forget(block);
        Ok(())
    }

    /// Forgets who used a block.
    pub(crate) fn forget(&self, block: Address) {
        self.uses.borrow_mut().retain(|used| used.block != block);
    }

    fn join_where(&self, own: &CudaStream, wanted: impl Fn(&Use) -> bool) -> Result<(), CudaError> {
        for used in self.uses.borrow().iter().filter(|used| wanted(used)) {
            self.join_one(&used.by, own)?;
        }
        Ok(())
    }

    fn join_one(&self, by: &Foreign, own: &CudaStream) -> Result<(), CudaError> {
        bind(own.context())?;
        let is_captured = driver::is_capturing(own)?;
        let refused = CudaError::Capturing { operation: "wait for another stream" };
        match by {
            Foreign::Somewhere(_) if is_captured => Err(refused),
            Foreign::Somewhere(context) => {
                bind(context)?;
                let waited = driver::synchronize_context();
                bind(own.context()).and(waited)
            }
            Foreign::Stream(stream) if driver::is_capturing(stream)? != is_captured => Err(refused),
            Foreign::Stream(stream) if stream.context().cu_ctx() == own.context().cu_ctx() => {
                let event = self.event(own.context())?;
                event.record(stream)?;
                event.hold_back(own)
            }
            Foreign::Stream(stream) => {
                let waited = wait_across_contexts(stream, own);
                bind(own.context()).and(waited)
            }
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

/// Makes a stream wait for one of another context. Only an event of its own context can be recorded on a
/// stream; any stream can wait for it.
fn wait_across_contexts(stream: &CudaStream, own: &CudaStream) -> Result<(), CudaError> {
    let event = Event::new(stream.context())?;
    event.record(stream)?;
    bind(own.context())?;
    event.hold_back(own)
}

/// The streams that were announced, by the place where they lie.
static ANNOUNCED: Mutex<Vec<Weak<CudaStream>>> = Mutex::new(Vec::new());

/// Lets pools keep a stream alive when they get no more than a reference to it.
///
/// cudarc's traits pass streams as `&CudaStream`. A stream that was announced is kept alive for as long
/// as a pool must be able to wait for it. Pools announce their own streams, and those that
/// [`DeviceView::on`](crate::DeviceView::on) and [`record_use`](crate::record_use) get. For any other
/// stream a pool must wait, on the host, for all work of the context before it hands the memory out
/// again: correct, and slow.
pub fn announce(stream: &Arc<CudaStream>) {
    let mut announced = ANNOUNCED.lock().unwrap_or_else(PoisonError::into_inner);
    if announced.iter().any(|known| ptr::eq(known.as_ptr(), Arc::as_ptr(stream))) {
        return;
    }
    announced.retain(|known| known.strong_count() > 0);
    announced.push(Arc::downgrade(stream));
}

/// What can be kept of a stream that is borrowed.
///
/// A weak reference keeps the place where its stream lies, so no other stream comes to lie there; and a
/// stream that was moved out of its `Arc` lies elsewhere. So the stream of an entry with this address is
/// this stream.
pub(crate) fn keep(stream: &CudaStream) -> Foreign {
    let announced = ANNOUNCED.lock().unwrap_or_else(PoisonError::into_inner);
    let here = announced.iter().find(|known| ptr::eq(known.as_ptr(), stream));
    match here.and_then(Weak::upgrade).filter(|stream| !is_per_thread(stream)) {
        Some(stream) => Foreign::Stream(stream),
        None => Foreign::Somewhere(Arc::clone(stream.context())),
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
