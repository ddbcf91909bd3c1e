//! Scopes that run between two replays. A scope that runs between two replays can use the graph's
//! arena, because the graph's temporaries are not in use at that time.
//!
//! A scope that runs between replays is safe for three reasons:
//!
//! - The scope's pool uses the graph's stream. As a result, all of the pool's work runs after the
//!   earlier replays and before the later ones. Before the arena's loan ends, the graph's stream
//!   waits for other streams that used the pool's views, even if the body panics.
//! - During the loan, no graph that uses the arena can run, and no capture can use the arena. The
//!   arena is marked as lent, and each graph checks this mark under a lock before it runs. A launch
//!   holds this lock until the driver call has returned.
//! - Views borrow the scope, which ends when the closure returns. No view can therefore outlive the
//!   loan.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::mem;
use std::sync::Arc;

use pool_core::{Pool, Scope};
use pool_cuda::{BlockSource, Cuda, DeviceStream};
use pool_driver::calls::synchronize_context;
use pool_driver::cudarc::driver::{CudaFunction, CudaStream};
use pool_driver::error::CudaError;

use super::captured_graph::CapturedGraph;
use crate::base::request::GRANULE;
use crate::base::shortage::ArenaShortage;
use crate::capture::body::{end_uses, pool_config};
use crate::capture::error::CaptureError;
use crate::capture::memory::ArenaLoan;

impl<S> CapturedGraph<S> {
    /// Calls a closure with a scope that allocates from the memory of the graph's temporaries. This
    /// memory is not in use between replays. Eager code in the scope therefore needs no additional
    /// device memory. The scope's memory is valid only until the closure returns. If data must
    /// outlive the closure, store it in [leased](crate::CaptureSession::lease) or
    /// [owned](crate::CaptureSession::own_mut) memory.
    ///
    /// The scope's pool uses the graph's stream, so its work runs after all earlier replays and
    /// before all later ones. Views can be used on other streams with
    /// [`on`](pool_cuda::DeviceView::on). When the closure returns, the graph's stream waits for
    /// the other streams that the scope used. A scope may overwrite any data that an earlier scope
    /// or a replay left in this memory.
    ///
    /// While the scope is open, no graph that shares the arena can be replayed or updated. A replay
    /// or an update that is attempted while the scope is open fails with [`CaptureError::Lent`].
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
    /// An error from `body` takes precedence over all other errors. If the arena is too small,
    /// acquiring memory fails with [`CudaError::NoBlock`]. The [`idle_bytes`](Self::idle_bytes)
    /// method returns the number of available bytes. If another scope that runs between replays is
    /// open, the call fails with [`CaptureError::Lent`]. If the stream is being captured, the call
    /// fails with [`CaptureError::Capturing`]. If a driver call fails, this method returns the
    /// driver's error. If the graph's stream cannot wait for the other streams, the arena's graphs
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

    /// Returns the number of bytes that a [`scope`](Self::scope) can use. A scope can use the part
    /// of the arena that belongs to the arena's graphs.
    #[must_use]
    pub fn idle_bytes(&self) -> u64 {
        let (begin, end) = self.idle_range();
        end - begin
    }

    /// Returns the start and end offsets of the range that belongs to the arena's graphs.
    fn idle_range(&self) -> (u64, u64) {
        let capacity = self.arena().arena().capacity();
        (self.arena().used_before().min(capacity), capacity)
    }
}

/// The pool of a scope that runs between two replays, and the loan of its memory.
struct IdlePool {
    pool: Pool<Cuda>,
    /// The loan of the arena's memory, or `None` once it has ended.
    loan: Option<ArenaLoan>,
}

impl IdlePool {
    /// Makes the pool's stream wait for all other streams that used its memory, and then ends the
    /// loan.
    fn end(&mut self) -> Result<(), CudaError> {
        let Some(loan) = self.loan.take() else { return Ok(()) };
        let stream = self.pool.context();
        let ended = end_uses(stream);
        // If the driver cannot make the pool's stream wait, the host waits for all work in the
        // context to finish.
        let is_over = ended.is_ok() || synchronize_context(stream.stream().context(), None).is_ok();
        if !is_over {
            // The loan never ends, because pending work might still use the memory.
            mem::forget(loan);
        }
        ended
    }
}

impl Drop for IdlePool {
    fn drop(&mut self) {
        // If the body panicked, the error cannot be returned to a caller. If pending work might
        // still use the memory, `end` leaks the loan, and the graphs can never run again.
        let _unwinding = self.end();
    }
}

/// The block source that a scope's pool uses between replays.
struct IdleArena {
    /// The arena's start address.
    address: u64,
    blocks: RefCell<Blocks>,
}

/// The blocks that the pool has allocated, identified by their offsets in the arena.
struct Blocks {
    /// The offset of the next new block.
    next: u64,
    end: u64,
    /// The block sizes in bytes, keyed by offset.
    bytes: BTreeMap<u64, u64>,
    /// The blocks that the pool has freed, sorted by size and offset.
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
    /// Returns the offset of a block with at least `bytes` bytes, or `None` if the arena does not
    /// have enough space.
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

    /// Frees a block. Free blocks at the end of the arena's used part are merged into the unused
    /// part.
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

// SAFETY: each block lies within the arena's buffer. The buffer and each block start at multiples
// of 256. Only this pool uses the blocks, because no graph that uses the arena can run during the
// loan, and no other pool can use the arena. The arena lives as long as the graph, and the graph is
// borrowed during the loan. The loan ends only after later work on the graph's stream has been
// ordered after all work that uses the pool's views. The pool reuses a block only in stream order,
// after all work that used the block. None of this source's methods use the pool.
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

    /// The pool's stream is not captured, so this method is never called.
    fn keep_function(&self, _: &CudaFunction) {}

    /// The pool's stream is not captured, so this method is never called.
    unsafe fn write(&self, _: u64, _: &[u8]) -> Result<(), CudaError> {
        Err(CudaError::Capturing { operation: "write to a graph's idle memory" })
    }
}

#[cfg(test)]
mod tests {
    use super::IdleArena;

    /// Compares the allocated blocks with an independent list of the byte ranges in use.
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
