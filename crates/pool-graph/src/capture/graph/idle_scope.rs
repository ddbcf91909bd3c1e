//! A scope between two replays. It allocates its blocks from the graph's arena, whose temporaries
//! are idle between replays.
//!
//! A scope is safe for three reasons:
//!
//! 1. The pool works on the graph's stream. All its work therefore runs after the earlier replays
//!    and before the later ones. Other streams that used the pool's views are joined with that
//!    stream before the loan ends, even if the body unwinds.
//! 2. While the loan lasts, no graph on the arena runs, and none is captured into the arena. The
//!    arena is marked as lent. Each graph checks that mark under a lock, and a launch holds the
//!    lock until it has returned.
//! 3. Views borrow the scope, and the scope ends with the closure. No view outlives the loan.

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
    /// Runs a closure with a scope whose pool allocates from the memory of the graph's temporaries,
    /// which are idle between replays. Use it for eager work that needs no memory beyond the
    /// graph's own. The scope's memory is valid only until the closure ends. Memory that must last
    /// longer is [leased](crate::CaptureSession::lease) or [owned](crate::CaptureSession::own_mut).
    ///
    /// The pool works on the graph's stream, after all earlier replays and before later ones. Views
    /// may be used on other streams with [`on`](pool_cuda::DeviceView::on). Those streams are
    /// joined with the graph's stream when the closure ends. Contents left by an earlier scope or a
    /// replay are not preserved.
    ///
    /// While the scope is open, no graph that shares the arena can be replayed or updated: the call
    /// fails with [`CaptureError::Lent`].
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
    /// The body's own error takes precedence. An acquire fails with [`CudaError::NoBlock`] if the
    /// arena has too few bytes; [`idle_bytes`](Self::idle_bytes) returns how many it has. A call
    /// inside another such scope fails with [`CaptureError::Lent`]. A call while the stream is
    /// being captured fails with [`CaptureError::Capturing`]. Any other error is the driver's error
    /// code. If the streams cannot be joined, the graphs of the arena can no longer be replayed.
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

    /// Returns the number of bytes that a [`scope`](Self::scope) may use: the bytes of the arena
    /// that belong to its graphs.
    #[must_use]
    pub fn idle_bytes(&self) -> u64 {
        let (begin, end) = self.idle_range();
        end - begin
    }

    /// Returns the part of the arena that belongs to its graphs, as start and end offsets.
    fn idle_range(&self) -> (u64, u64) {
        let capacity = self.arena().arena().capacity();
        (self.arena().used_before().min(capacity), capacity)
    }
}

/// The pool of a scope between replays, and the loan of the pool's memory.
struct IdlePool {
    pool: Pool<Cuda>,
    /// `None` once the loan is over.
    loan: Option<ArenaLoan>,
}

impl IdlePool {
    /// Joins all streams that used the pool's memory with the pool's stream, and ends the loan.
    fn end(&mut self) -> Result<(), CudaError> {
        let Some(loan) = self.loan.take() else { return Ok(()) };
        let stream = self.pool.context();
        let ended = end_uses(stream);
        // If the driver does not order the streams, the host waits for them.
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
        // A body that unwinds cannot receive the error. If work may still use the memory, `end` has
        // kept the loan, so the graphs refuse to run.
        let _unwinding = self.end();
    }
}

/// A source of blocks for a pool between replays.
struct IdleArena {
    /// The address at which the arena begins.
    address: u64,
    blocks: RefCell<Blocks>,
}

/// The pool's blocks, by their offsets in the arena.
struct Blocks {
    /// The offset at which the next new block begins.
    next: u64,
    end: u64,
    /// The size of the block at each offset.
    bytes: BTreeMap<u64, u64>,
    /// The blocks that the pool has freed, by size and offset.
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
    /// Returns the offset of a block of at least this size, or `None` if there is no room.
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

    /// Takes a block back. A run of idle blocks at the end is merged into the unused rest of the
    /// arena.
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

// SAFETY: each block lies in the arena's buffer. The buffer begins at a multiple of 256, and so
// does each block. The blocks belong to this pool alone: no graph on the arena runs while the loan
// lasts, and no other pool uses the arena. The arena lives as long as the graph, which is borrowed.
// The loan ends only when all work on the pool's views is ordered before later work on the graph's
// stream. A block is handed out again only after all work that used it, in the order of the pool's
// one stream. The source does not use the pool.
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

    /// Never called, because the pool's stream is not captured.
    unsafe fn write(&self, _: u64, _: &[u8]) -> Result<(), CudaError> {
        Err(CudaError::Capturing { operation: "write to a graph's idle memory" })
    }
}

#[cfg(test)]
mod tests {
    use super::IdleArena;

    /// Compares the blocks with a list of the bytes that are in use.
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
