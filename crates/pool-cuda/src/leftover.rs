//! What could not be given back when its owner was dropped, because a stream was captured or because the
//! driver refused: kept here, for the process, and tried again whenever a pool allocates or is dropped.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use cudarc::driver::CudaStream;

use crate::capturing::is_capturing;
use crate::chain::Chain;
use crate::device::CudaDevice;
use crate::driver::Address;
use crate::error::CudaError;
use crate::event::LeftEvent;
use crate::foreign::ForeignUses;
use crate::memory_pool::LeftMemoryPool;
use crate::staging::Buffer;
use crate::stream::free_block;

/// Something of the driver's that has no owner any more.
#[derive(Debug)]
pub(crate) enum Leftover {
    Block(LeftBlock),
    Buffer(Buffer),
    Event(LeftEvent),
    MemoryPool(LeftMemoryPool),
}

/// A block of the device that a pool left which was dropped.
#[derive(Debug)]
pub(crate) struct LeftBlock {
    pub(crate) address: Address,
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

/// Gives it back, now or later.
pub(crate) fn give_back(mut left: Leftover) {
    if !left.is_given_back() {
        keep(Chain::of(left));
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
    let mut all = std::mem::take(&mut *kept());
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
            Self::Block(block) => block.free(),
            // SAFETY: it is dropped once this has succeeded.
            Self::Buffer(buffer) => unsafe { buffer.free() },
            Self::Event(event) => event.destroy(),
            Self::MemoryPool(pool) => pool.destroy(),
        };
        match given {
            Ok(()) => true,
            Err(error) => error.code().is_some_and(crate::DriverCode::says_gone),
        }
    }
}

impl LeftBlock {
    fn free(&self) -> Result<(), CudaError> {
        if is_capturing(&self.stream)? {
            return Err(CudaError::Capturing { operation: "free memory" });
        }
        // SAFETY: a pool left it, whose views are gone with it; what uses it is in the stream or noted.
        unsafe { free_block(self.address, &self.foreign, &self.stream, &self.device) }
    }
}
