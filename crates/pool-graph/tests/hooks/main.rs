//! An allocator that calls back, and one that refuses. At the first, second, third … allocation or
//! free of a program, a hook uses the same pool, arena and source. Memory is exhausted at the n-th
//! allocation, or from there on. There is no deadlock and no abort, and every error names the
//! missing resource.

#![allow(clippy::unwrap_used, clippy::panic, reason = "this is how tests fail")]

mod allocator;

use std::cell::Cell;
use std::rc::Rc;
use std::sync::{OnceLock, mpsc};
use std::thread;
use std::time::Duration;

use allocator::{Rule, with_rule};
use pool_core::error_chain;
use pool_graph::{
    ArenaPolicy, CUDAGraphMemoryPool, CudaArena, GraphMemoryError, GraphPoolConfig, MemorySource,
    SyntheticMemory, SyntheticRefusal,
};

const MIB: u64 = 1 << 20;

type Error = GraphMemoryError<SyntheticRefusal>;
type Ended = Result<(), Error>;

/// The objects of a program, which a hook uses, too.
struct Ground {
    source: SyntheticMemory,
    pool: CUDAGraphMemoryPool<SyntheticMemory>,
    arenas: [CudaArena<SyntheticMemory>; 2],
}

impl Ground {
    fn new() -> Self {
        let source = SyntheticMemory::new();
        let config = GraphPoolConfig { initial: 0, maximum: 512 * MIB };
        let pool = CUDAGraphMemoryPool::with_config(source.clone(), config);
        let arenas = [ArenaPolicy::Monotone, ArenaPolicy::Linear]
            .map(|policy| CudaArena::new(source.clone(), MIB, policy).unwrap());
        Self { source, pool, arenas }
    }

    /// Makes every call that allocates or frees, often enough that lists grow.
    fn use_everything(&self) -> Ended {
        for size in [1, 70_000, 20 * MIB] {
            let blocks: Vec<_> = list((0..5).map(|_| self.pool.allocate((size, 512))))?;
            let lease = self.pool.lease(&[blocks[0].id(), blocks[3].id()])?;
            blocks[1..3].iter().try_for_each(|block| self.pool.deallocate(block.id()))?;
            assert_eq!(self.pool.find(blocks[4].id())?.address(), blocks[4].address());
            drop(lease);
            for block in [&blocks[0], &blocks[3], &blocks[4]] {
                self.pool.deallocate(block.id())?;
            }
            self.pool.trim()?;
        }
        for arena in &self.arenas {
            let regions: Vec<_> = list((0..9).map(|size| arena.allocate(size)))?;
            for region in regions.iter().rev() {
                let _ended = arena.deallocate(region.address());
            }
        }
        let address = self
            .source
            .allocate(256)
            .map_err(|source| GraphMemoryError::Source { operation: "take memory", source })?;
        // SAFETY: it was just allocated, and is not in use.
        unsafe { self.source.free(address, 256) };
        Ok(())
    }

    /// The same, with the calls that end other holders' blocks.
    fn use_and_reset(&self) -> Ended {
        self.use_everything()?;
        let block = self.pool.allocate(3 * MIB)?;
        self.pool.reset()?;
        assert!(self.pool.deallocate(block.id()).is_err());
        self.arenas.iter().for_each(CudaArena::reset);
        Ok(())
    }

    fn assert_is_in_order(&self) {
        self.use_and_reset().unwrap();
        self.pool.reset().unwrap();
        self.pool.trim().unwrap();
        assert_eq!((self.pool.allocated_bytes(), self.source.mistakes()), (0, 0));
        assert_eq!(self.source.held(), 2 * MIB, "the arenas'");
        assert!(self.pool.stats().in_use_bytes == 0, "{:?}", self.pool);
    }
}

/// Returns a list of the test itself, which allocates without a rule.
fn list<T>(items: impl Iterator<Item = Result<T, Error>>) -> Result<Vec<T>, Error> {
    let mut list = allocator::without_rule(|| Vec::with_capacity(16));
    for item in items {
        list.push(item?);
    }
    Ok(list)
}

/// Runs a closure that may deadlock, on a thread with a time limit.
fn in_time(name: &str, run: impl FnOnce() + Send + 'static) {
    let (done, is_done) = mpsc::channel();
    let thread = thread::spawn(move || {
        run();
        done.send(()).unwrap();
    });
    let ended = is_done.recv_timeout(Duration::from_secs(60));
    assert_ne!(ended, Err(mpsc::RecvTimeoutError::Timeout), "{name} deadlocks");
    thread.join().unwrap();
}

/// Returns the numbers of calls to test; a sample under Miri, where each takes seconds.
fn nths() -> impl Iterator<Item = usize> {
    (0..).step_by(if cfg!(miri) { 9 } else { 1 })
}

static GROUND: OnceLock<Ground> = OnceLock::new();

#[test]
fn a_hook_of_the_allocator_uses_the_pool_that_is_used() {
    let mut times = 0;
    for nth in nths() {
        let has_run = mpsc::channel();
        in_time(&format!("the hook in allocation {nth}"), move || {
            let ground = GROUND.get_or_init(Ground::new);
            let hook = || GROUND.get().unwrap().use_everything().unwrap();
            let (ended, ran) = with_rule(Rule::Hook { nth, hook }, || ground.use_and_reset());
            // The hook intervenes, but takes nothing away.
            ended.unwrap();
            has_run.0.send(ran).unwrap();
            ground.assert_is_in_order();
        });
        if !has_run.1.recv().unwrap() {
            break;
        }
        times += 1;
        // Capacities are kept: each allocation of a fresh pool is tested below.
    }
    println!(
        "FIGURE: a hook ran in each of {times} allocations and frees of a pool that is in use"
    );
}

#[test]
fn a_hook_of_the_allocator_uses_a_fresh_pool() {
    let mut times = 0;
    for nth in nths() {
        let has_run = mpsc::channel();
        in_time(&format!("the hook in allocation {nth}"), move || {
            let ground = Rc::new(Ground::new());
            FRESH.set(Some(Rc::clone(&ground)));
            let hook = || {
                let ground = FRESH.take().unwrap();
                FRESH.set(Some(Rc::clone(&ground)));
                ground.use_everything().unwrap();
            };
            let (ended, ran) = with_rule(Rule::Hook { nth, hook }, || ground.use_and_reset());
            FRESH.set(None);
            ended.unwrap();
            has_run.0.send(ran).unwrap();
            ground.assert_is_in_order();
        });
        if !has_run.1.recv().unwrap() {
            break;
        }
        times += 1;
    }
    println!("FIGURE: a hook ran in each of {times} allocations and frees of a fresh pool");
    assert!(times > 10 || cfg!(miri), "{times}");
}

thread_local! {
    static FRESH: Cell<Option<Rc<Ground>>> = const { Cell::new(None) };
}

/// Memory is exhausted at the n-th allocation alone, or from there on.
#[test]
fn the_books_answer_an_error_when_memory_is_out() {
    for for_good in [false, true] {
        let mut refusals = 0;
        for nth in nths() {
            let ground = Ground::new();
            let rule = Rule::Refuse { nth, for_good };
            let (ended, refused) = with_rule(rule, || ground.use_and_reset());
            if !refused {
                ended.unwrap();
                break;
            }
            refusals += 1;
            match ended {
                Ok(()) => {}
                Err(
                    GraphMemoryError::Bookkeeping { requested }
                    | GraphMemoryError::Source {
                        source: SyntheticRefusal::Bookkeeping { requested },
                        ..
                    }
                    | GraphMemoryError::OutOfMemory {
                        source: SyntheticRefusal::Bookkeeping { requested },
                        ..
                    },
                ) => assert!(requested > 0),
                Err(error) => panic!("allocation {nth}: {}", error_chain(&error)),
            }
            ground.assert_is_in_order();
        }
        println!("FIGURE: {refusals} allocations refused, for good: {for_good}");
        assert!(refusals > 5 || cfg!(miri), "{refusals}");
    }
}

/// Calls that free memory, or use existing memory, allocate nothing.
#[test]
fn returns_and_resets_take_no_memory() {
    let ground = Ground::new();
    ground.use_and_reset().unwrap();
    let blocks = [1, 20 * MIB, 17 * MIB, 5].map(|size| ground.pool.allocate(size).unwrap());
    let lease = ground.pool.lease(&[blocks[0].id(), blocks[1].id()]).unwrap();
    let region = ground.arenas[1].allocate(9).unwrap();
    let (ended, refused) = with_rule(Rule::Refuse { nth: 0, for_good: true }, || {
        ground.pool.deallocate(blocks[3].id())?;
        ground.pool.allocate(5)?;
        ground.pool.reset()?;
        drop(lease);
        ground.pool.reset()?;
        ground.pool.trim()?;
        let _ended = ground.arenas[1].deallocate(region.address());
        ground.arenas[1].allocate(9)?;
        ground.arenas.iter().for_each(CudaArena::reset);
        Ok::<(), Error>(())
    });
    assert_eq!((ended, refused), (Ok(()), false));
    ground.assert_is_in_order();
    let leased = ground.pool.allocate(20 * MIB).unwrap();
    let lease = ground.pool.lease(&[leased.id()]).unwrap();
    let dispose = || {
        drop(lease);
        ground.pool.dispose()
    };
    let (_, refused) = with_rule(Rule::Refuse { nth: 0, for_good: true }, dispose);
    assert!(!refused && ground.source.held() == 2 * MIB);
}
