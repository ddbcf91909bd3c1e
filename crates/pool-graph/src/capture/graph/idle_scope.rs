//! A scope between two replays: it takes its blocks from the graph's arena, whose temporaries are idle then.
//!
//! Why this is sound:
//!
//! 1. The pool works on the graph's stream. So all its work comes after the replays so far, and before later ones.
//!    Streams that had views of it are joined with that stream before the graphs get the arena back, even if the body
//!    unwinds.
//! 2. Meanwhile no graph of the arena runs, and none is captured into it: the arena is marked as lent. Each launch and
//!    capture checks the mark, under a lock that a launch holds until it returns.
//! 3. Views borrow the scope, which ends with the closure. So nothing of it outlives the loan.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::mem;
use std::sync::Arc;

use pool_core::{Pool, Scope};
use pool_cuda::{BlockSource, Cuda, DeviceStream};
use pool_driver::calls::synchronize_context;
use pool_driver::cudarc::driver::CudaStream;
use pool_driver::error::CudaError;

use super::captured_graph::CapturedGraph;
use crate::base::request::GRANULE;
use crate::base::shortage::ArenaShortage;
use crate::capture::body::{end_uses, pool_config};
use crate::capture::error::CaptureError;
use crate::capture::memory::ArenaLoan;

impl<S> CapturedGraph<S> {
    /// Runs your code with a scope of a pool that takes its blocks from the graph's temporaries, which are idle between
    /// replays. So eager work needs no further memory. Its arrays end with the closure. Memory that must last is
    /// [leased](crate::CaptureSession::lease) or [owned](crate::CaptureSession::own_mut).
    ///
    /// The pool works on the graph's stream, after all replays so far and before later ones. Views may be used on other
    /// streams, by [`on`](pool_cuda::DeviceView::on). These streams are joined with the graph's stream when the closure
    /// ends. Contents of an earlier scope or replay are not kept.
    ///
    /// Until the scope ends, no graph that shares the arena can be replayed or updated ([`CaptureError::Lent`]).
    ///
    /// ```no_run
    /// # use pool_core::PoolView;
    /// # use pool_graph::{CaptureError, CapturedGraph};
    /// # fn f(graph: &mut CapturedGraph) -> Result<(), CaptureError> {
    /// graph.replay()?;
    /// let sums = graph.scope(|scope| {
    ///     let scratch = scope.try_acquire_zeroed::<f32, _>(1000)?; // memory of the graph
    ///     // … `scope.launch(&kernel).arg(&scratch)` …
    ///     Ok::<_, CaptureError>(scratch.copy_to_vec()?)
    /// })?;
    /// graph.replay()?; // comes after the scope's work
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// The body's own error, before any other. [`CudaError::NoBlock`] if the arena has too few bytes:
    /// [`idle_bytes`](Self::idle_bytes) returns their number. [`CaptureError::Lent`] inside another such scope.
    /// [`CaptureError::Capturing`], and errors of the driver. If the streams cannot be joined, the graphs of the arena
    /// can no longer be replayed.
    pub fn scope<R, E: From<CaptureError>>(
        &mut self,
        body: impl FnOnce(&mut Scope<'_, Cuda>) -> Result<R, E>,
    ) -> Result<R, E> {
        let memory = self.setup.resources().memory();
        memory.check()?;
        let loan = memory.arena.lend()?;
        drop(self.check_stream("lend its memory")?);
        let source = IdleArena::new(memory.arena.address(), self.idle_range());
        let context = DeviceStream::from_source(Arc::clone(self.stream()), source);
        let context = context.map_err(CaptureError::from)?;
        let pool = Pool::with_config(context, pool_config()).map_err(CaptureError::from)?;
        let mut idle = IdlePool { pool, loan: Some(loan) };
        let result = body(&mut idle.pool.scope());
        let ended = idle.end();
        let result = result?;
        ended.map_err(CaptureError::from)?;
        Ok(result)
    }

    /// The bytes that a [`scope`](Self::scope) may take: those of the arena that belong to its graphs.
    #[must_use]
    pub fn idle_bytes(&self) -> u64 {
        let (begin, end) = self.idle_range();
        end - begin
    }

    /// The part of the arena that is its graphs', as offsets.
    fn idle_range(&self) -> (u64, u64) {
        let capacity = self.arena().arena().capacity();
        (self.arena().used_before().min(capacity), capacity)
    }
}

/// The pool of a scope between replays, and the loan of its memory.
struct IdlePool {
    pool: Pool<Cuda>,
    /// None once the loan is over.
    loan: Option<ArenaLoan>,
}

impl IdlePool {
    /// Joins all streams that had memory of the pool with its stream, and ends the loan.
    fn end(&mut self) -> Result<(), CudaError> {
        let Some(loan) = self.loan.take() else { return Ok(()) };
        let stream = self.pool.context();
        let ended = end_uses(stream);
        // If the driver does not order them, the host waits for them.
        let is_over = ended.is_ok() || synchronize_context(stream.stream().context(), None).is_ok();
        if !is_over {
            // The memory stays lent, because work may still use it.
            mem::forget(loan);
        }
        ended
    }
}

impl Drop for IdlePool {
    fn drop(&mut self) {
        // A body that unwinds cannot use the error. The loan invalidates the graphs.
        let _unwinding = self.end();
    }
}

/// A source of blocks for a pool between replays.
struct IdleArena {
    /// The address at which the arena begins.
    address: u64,
    blocks: RefCell<Blocks>,
}

/// The blocks of the pool, by offsets in the arena.
struct Blocks {
    /// The offset of the next new block.
    next: u64,
    end: u64,
    /// The bytes of the block at each offset.
    bytes: BTreeMap<u64, u64>,
    /// The blocks that the pool has freed, by bytes and offset.
    idle: BTreeSet<(u64, u64)>,
}

impl IdleArena {
    fn new(address: u64, (next, end): (u64, u64)) -> Self {
        let next = next.next_multiple_of(GRANULE);
        let blocks = Blocks { next, end, bytes: BTreeMap::new(), idle: BTreeSet::new() };
        Self { address, blocks: RefCell::new(blocks) }
    }
}

impl Blocks {
    /// Returns the offset of a block of `bytes` bytes; `None` if there is no room.
    fn take(&mut self, bytes: u64) -> Option<u64> {
        let fits = self.idle.range((bytes, 0)..).next().copied();
        if let Some(block) = fits {
            self.idle.remove(&block);
            return Some(block.1);
        }
        let bytes = bytes.checked_next_multiple_of(GRANULE)?;
        let end = self.next.checked_add(bytes).filter(|&end| end <= self.end)?;
        let offset = mem::replace(&mut self.next, end);
        self.bytes.insert(offset, bytes);
        Some(offset)
    }

    /// Takes a block back. Idle blocks after the last used one become free space.
    fn give_back(&mut self, offset: u64) {
        let Some(&bytes) = self.bytes.get(&offset) else { return };
        self.idle.insert((bytes, offset));
        while let Some((&last, &bytes)) = self.bytes.last_key_value() {
            if !self.idle.remove(&(bytes, last)) {
                return;
            }
            self.bytes.remove(&last);
            self.next = last;
        }
    }
}

// SAFETY: the blocks are multiples of 256 in the arena's buffer, which begins at one. They are this pool's alone: no
// graph that has the arena runs while the loan lasts, and no other pool has it. The arena lives as long as the graph,
// which is borrowed. The loan ends when all enqueued work comes before the next work on the graph's stream. A block is
// reused after all its uses, on the pool's one stream. No method uses the pool.
unsafe impl BlockSource for IdleArena {
    fn owner(&self) -> u64 {
        self.address
    }

    fn is_dry(&self) -> bool {
        false
    }

    fn is_captured(&self) -> bool {
        false
    }

    fn allocate(&self, bytes: usize) -> Result<u64, CudaError> {
        let offset =
            u64::try_from(bytes).ok().and_then(|bytes| self.blocks.borrow_mut().take(bytes));
        let why = ArenaShortage::IdleMemory.advice();
        let offset = offset.ok_or(CudaError::NoBlock { requested: bytes, why })?;
        Ok(self.address + offset)
    }

    unsafe fn free(&self, address: u64) {
        if let Some(offset) = address.checked_sub(self.address) {
            self.blocks.borrow_mut().give_back(offset);
        }
    }

    fn admit(&self, _: &CudaStream) -> Result<(), CudaError> {
        Ok(())
    }

    /// Not called: the pool's stream is not captured.
    unsafe fn write(&self, _: u64, _: &[u8]) -> Result<(), CudaError> {
        Err(CudaError::Capturing { operation: "write by a source of idle memory" })
    }
}

#[cfg(test)]
mod tests {
    use super::IdleArena;

    /// Compares blocks with a list of the taken bytes.
    #[test]
    fn blocks_are_apart_and_come_back() {
        let arena = IdleArena::new(1 << 20, (100, 1 << 16));
        let mut blocks = arena.blocks.borrow_mut();
        let (mut taken, mut place) = (Vec::<(u64, u64)>::new(), 1_u64);
        for _ in 0..if cfg!(miri) { 50 } else { 5000 } {
            place = (place * 48_271 + 11) % 65_537;
            if place % 5 < 2 && !taken.is_empty() {
                let which = usize::try_from(place).unwrap_or(0) % taken.len();
                blocks.give_back(taken.swap_remove(which).0);
                continue;
            }
            let bytes = 1 + place % 6000;
            let Some(offset) = blocks.take(bytes) else { continue };
            assert!(offset % 256 == 0 && offset >= 256 && offset + bytes <= 1 << 16);
            for &(other, length) in &taken {
                assert!(offset + bytes <= other || other + length <= offset);
            }
            taken.push((offset, bytes));
        }
        taken.drain(..).for_each(|(offset, _)| blocks.give_back(offset));
        assert_eq!((blocks.next, blocks.bytes.len(), blocks.idle.len()), (256, 0, 0));
        assert_eq!(blocks.take((1 << 16) - 256), Some(256), "all of it is one block again");
        assert_eq!(blocks.take(1), None);
    }
}
