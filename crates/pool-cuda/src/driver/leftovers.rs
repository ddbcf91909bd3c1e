//! What could not be given back when its owner was dropped, because a stream was captured or because the
//! driver refused: kept here, for the process, and tried again whenever a pool allocates or is dropped.

use std::mem;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use cudarc::driver::CudaStream;

use crate::driver::calls::{Address, unless_gone};
use crate::driver::capture::is_capturing;
use crate::driver::chain::Chain;
use crate::driver::error::CudaError;
use crate::driver::event::LeftEvent;
use crate::driver::memory_pool::LeftMemoryPool;
use crate::stream::device::CudaDevice;
use crate::stream::device_stream::free_block;
use crate::stream::other_streams::ForeignUses;
use crate::stream::page_locked::Buffer;
use crate::view::shape::Slab;

/// Something of the driver's that has no owner any more.
#[derive(Debug)]
pub(crate) enum Leftover {
    Nothing,
    Blocks(LeftBlocks),
    Buffer(Buffer),
    Event(LeftEvent),
    MemoryPool(LeftMemoryPool),
}

/// Blocks of the device that a pool left which was dropped.
#[derive(Debug)]
pub(crate) struct LeftBlocks {
    pub(crate) addresses: Chain<Address>,
    /// Those that hold shapes.
    pub(crate) slabs: Chain<Slab>,
    pub(crate) foreign: ForeignUses,
    pub(crate) stream: Arc<CudaStream>,
    pub(crate) device: CudaDevice,
}

/// Locked for linking and unlinking alone.
static KEPT: Mutex<Chain<Leftover>> = Mutex::new(Chain::new());

/// How many there are, for who only wants to know that there are none.
static COUNT: AtomicUsize = AtomicUsize::new(0);

fn kept() -> MutexGuard<'static, Chain<Leftover>> {
    KEPT.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A place for something, made before it is: when that is dropped, the host may have no memory for one.
#[derive(Debug)]
pub(crate) struct Place(Chain<Leftover>);

impl Place {
    pub(crate) fn new() -> Result<Self, CudaError> {
        Chain::of(Leftover::Nothing).map(Self)
    }

    /// Gives something back, now or later.
    pub(crate) fn give_back(&mut self, left: Leftover) {
        let mut one = mem::take(&mut self.0);
        if let Some(place) = one.iter_mut().next() {
            *place = left;
        }
        if !one.iter_mut().all(Leftover::is_given_back) {
            keep(one);
        }
    }
}

fn keep(one: Chain<Leftover>) {
    COUNT.fetch_add(1, Ordering::Relaxed);
    kept().add(one);
}

/// Tries again; returns how many are left.
pub(crate) fn try_again() -> usize {
    if COUNT.load(Ordering::Relaxed) == 0 {
        return 0;
    }
    // The lock is not held meanwhile: what is given back may own something that is left over in turn.
    let mut all = mem::take(&mut *kept());
    while let Some(mut one) = all.pop() {
        COUNT.fetch_sub(1, Ordering::Relaxed);
        if !one.iter_mut().all(Leftover::is_given_back) {
            keep(one);
        }
    }
    COUNT.load(Ordering::Relaxed)
}

impl Leftover {
    /// Whether it is with the driver again, or gone with its context.
    fn is_given_back(&mut self) -> bool {
        let given = match self {
            Self::Nothing => Ok(()),
            Self::Blocks(blocks) => blocks.free(),
            // SAFETY: it is dropped once this has succeeded.
            Self::Buffer(buffer) => unsafe { buffer.free() },
            Self::Event(event) => event.destroy(),
            Self::MemoryPool(pool) => pool.destroy(),
        };
        is_done(given)
    }
}

/// Whether there is nothing left to be done.
fn is_done(given: Result<(), CudaError>) -> bool {
    unless_gone(given).is_ok()
}

impl LeftBlocks {
    /// Frees as many as can be; the others stay.
    fn free(&mut self) -> Result<(), CudaError> {
        let Self { addresses, slabs, foreign, stream, device } = self;
        if is_capturing(stream)? {
            return Err(CudaError::Capturing { operation: "free memory" });
        }
        // SAFETY: a pool left it, whose views are gone with it; what uses it is in the stream or noted.
        let free = |address| unsafe { free_block(address, foreign, stream, device) };
        let freed = free_each(addresses, |address| free(*address));
        freed.and(free_each(slabs, |slab| free(slab.address())))
    }
}

/// Unlinks what can be freed; the last error of those that cannot.
fn free_each<T>(
    blocks: &mut Chain<T>,
    free: impl Fn(&T) -> Result<(), CudaError>,
) -> Result<(), CudaError> {
    let (mut kept, mut last) = (Chain::new(), Ok(()));
    while let Some(one) = blocks.pop() {
        let freed = one.iter().try_for_each(&free);
        if !is_done(freed) {
            kept.add(one);
            last = freed;
        }
    }
    *blocks = kept;
    last
}
