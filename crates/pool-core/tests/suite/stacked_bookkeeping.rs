//! The host has no memory for a stack's bookkeeping: its state, the list of chunks, the list of names, the sets of
//! shapes. Each host allocation of a program is refused in turn, until the program makes fewer. The chunks are parts of
//! memory that the test has, so they are no host allocations.

use std::cell::{Cell, RefCell};
use std::ptr::NonNull;

use fastrand::Rng;
use pool_conformance::adapted::{AdaptedError, Adaptor, StackedAdaptor};
use pool_conformance::{AdaptedBackend, HeapBackend, Ledger};
use pool_core::{Advice, DynamicPool, Pool, PoolConfig, PoolError, Scope, Stacked};

use crate::counting::{allocations_in, refusing_one};
use crate::support::{assert_stamped, rounds, stamp};

/// Host memory that is there before the pool is.
struct Arena {
    ledger: Ledger,
    lines: RefCell<Vec<Line>>,
    /// The lines that are or were in a block.
    used: Cell<usize>,
    blocks: Cell<usize>,
}

#[derive(Clone, Copy)]
#[repr(align(64))]
struct Line(#[expect(dead_code, reason = "memory")] [u8; 64]);

impl Arena {
    fn new() -> Self {
        let lines = RefCell::new(vec![Line([0; 64]); rounds(1 << 15, 1 << 11)]);
        Self { ledger: Ledger::new(), lines, used: Cell::new(0), blocks: Cell::new(0) }
    }
}

// SAFETY: the blocks are disjoint parts of one allocation, and are zeroed before they are reused.
unsafe impl Adaptor for Arena {
    type Inner = HeapBackend;
    type Descriptor = u64;

    fn inner(&self) -> &Ledger {
        &self.ledger
    }

    fn allocate(&self, bytes: usize, _: Advice) -> Result<NonNull<u8>, AdaptedError<Self>> {
        let mut lines = self.lines.borrow_mut();
        let start = if self.blocks.get() == 0 { 0 } else { self.used.get() };
        self.used.set(start + bytes.div_ceil(64));
        assert!(self.used.get() <= lines.len(), "the programs need less");
        self.blocks.set(self.blocks.get() + 1);
        // SAFETY: within the memory.
        let block = unsafe { NonNull::new(lines.as_mut_ptr()).unwrap().add(start) }.cast::<u8>();
        // SAFETY: as above, and no block is there.
        unsafe { block.write_bytes(0, bytes) };
        Ok(block)
    }

    unsafe fn free(&self, _: NonNull<u8>, _: usize) {
        self.blocks.set(self.blocks.get() - 1);
    }
}

// SAFETY: the views are the heap's, which ignore the reference; nothing else is overridden.
unsafe impl StackedAdaptor for Arena {}

type ArenaBackend = Stacked<AdaptedBackend<Arena>>;
type Failure = PoolError<AdaptedError<Arena>>;

/// Refuses one host allocation in all of a program's calls of a pool.
struct Refusals {
    /// The allocations that succeed before the refused one; `None` once one was refused.
    given: Option<usize>,
    /// The calls that failed for it.
    failed: usize,
}

impl Refusals {
    /// Runs a call of the pool. If it fails for the refusal, runs it again, which must be successful.
    #[track_caller]
    fn call<R>(&mut self, mut call: impl FnMut() -> Result<R, Failure>) -> R {
        let Some(given) = self.given else { return call().unwrap() };
        let (mut result, mut made) = (None, 0);
        let ((), refused) = refusing_one(given, || {
            made = allocations_in(|| result = Some(call()));
        });
        self.given = if refused { None } else { Some(given - made) };
        match result.unwrap() {
            Ok(result) => result,
            Err(PoolError::Bookkeeping { requested }) => {
                assert!(refused && (1..1 << 16).contains(&requested), "{requested} bytes");
                self.failed += 1;
                call().unwrap()
            }
            Err(error) => panic!("{error:?}"),
        }
    }
}

/// Runs a program again and again, and refuses one of its host allocations in each run: the first one, and then every
/// `stride`-th one. Returns the number of failed calls.
fn sweep(stride: usize, mut program: impl FnMut(&mut Refusals)) -> usize {
    let mut failed = 0;
    for nth in (0..).step_by(stride) {
        let mut refusals = Refusals { given: Some(nth), failed: 0 };
        program(&mut refusals);
        failed += refusals.failed;
        if refusals.given.is_some() {
            return failed;
        }
    }
    unreachable!("every program ends")
}

/// Arrays of every kind in scopes of any depth, in chunks that are too small.
fn arrays(
    scope: &mut Scope<'_, ArenaBackend>,
    depth: usize,
    random: &mut Rng,
    refusals: &mut Refusals,
) {
    let mut live = Vec::new();
    for step in 0..random.u64(2..6) {
        let length = random.usize(1..rounds(300, 60));
        match random.u8(..10) {
            0..=2 => {
                let array = refusals.call(|| scope.try_acquire::<u64, _>(length));
                stamp(array, step);
                live.push((array, step));
            }
            3 => {
                let array = refusals.call(|| scope.try_acquire_zeroed::<u64, _>(length));
                assert!(array.iter().all(|&number| number == 0));
            }
            4 => {
                let array = refusals.call(|| scope.try_acquire_with(length, |at| (1_u8, at)));
                assert!(array.iter().enumerate().all(|(at, value)| *value == (1, at)));
            }
            5 => {
                let dims = [length % 7, 1 + length % 5, 2];
                let dims = &dims[..random.usize(1..=3)];
                let array = refusals.call(|| scope.try_acquire::<u16, _>(dims));
                assert_eq!(array.shape(), dims);
            }
            6 => {
                let mut vector = refusals.call(|| scope.try_acquire_vec::<u64>(length % 3));
                for number in 0..length as u64 {
                    refusals.call(|| vector.try_push(number));
                }
                assert!(vector.iter().copied().eq(0..length as u64));
            }
            7 => _ = scope.trim(),
            _ if depth < 4 => arrays(&mut scope.scope(), depth + 1, random, refusals),
            _ => {}
        }
    }
    live.iter().for_each(|(array, owner)| assert_stamped(array, *owner));
}

#[test]
fn refused_host_memory_leaves_a_stack_usable() {
    let mut failed = 0;
    for seed in 0..rounds(200, 1) as u64 {
        failed += sweep(rounds(1, 3), |refusals| {
            let mut pool = Pool::<ArenaBackend>::new(Arena::new());
            for pass in 0..3 {
                let mut random = Rng::with_seed(seed + pass / 2);
                arrays(&mut pool.scope(), 0, &mut random, refusals);
            }
            // After any refusal, equal passes end with one chunk, and then allocate nothing on the host.
            let mut equal = || {
                let mut scope = pool.scope();
                let mut none = Refusals { given: None, failed: 0 };
                for length in [100, 200, 50] {
                    let array = none.call(|| scope.try_acquire::<u64, _>(length));
                    stamp(array, 1);
                    none.call(|| scope.scope().try_acquire::<u64, _>(&[length, 2][..]).map(drop));
                    assert_stamped(array, 1);
                }
            };
            (0..4).for_each(|_| equal());
            assert_eq!(allocations_in(equal), 0);
            assert_eq!(pool.stats().active_slots, 0);
        });
    }
    assert!(failed > rounds(1_000, 1), "{failed} calls failed");
}

/// The list of chunks alone: one array a chunk; each array is larger than all before it.
#[test]
fn refused_memory_for_the_list_of_chunks() {
    let failed = sweep(1, |refusals| {
        let mut pool = Pool::<ArenaBackend>::new(Arena::new());
        for _ in 0..2 {
            let scope = pool.scope();
            let mut live = Vec::new();
            for chunk in 0..rounds(8, 4) {
                let array = refusals.call(|| scope.try_acquire::<u64, _>(100 << chunk));
                stamp(array, chunk as u64);
                live.push(array);
            }
            for (chunk, array) in live.iter().enumerate() {
                assert_stamped(array, chunk as u64);
            }
        }
        let before = pool.stats().growths;
        pool.scope().acquire::<u64, _>(100 << rounds(7, 3));
        assert!(pool.stats().growths <= before + 1, "a merge");
    });
    assert!(failed >= rounds(3, 2), "the list grew so often: {failed}");
}

#[test]
fn refused_host_memory_leaves_a_dynamic_stack_usable() {
    let mut failed = 0;
    for seed in 0..rounds(100, 1) {
        failed += sweep(rounds(1, 3), |refusals| {
            let mut random = Rng::with_seed(seed as u64);
            let mut pool = DynamicPool::<ArenaBackend>::new(Arena::new());
            for _ in 0..3 {
                refusals.call(|| pool.try_checkpoint());
                let mut handles = Vec::new();
                for step in 0..random.u64(1..20) {
                    let length = random.usize(1..100);
                    handles.push((refusals.call(|| pool.try_acquire_filled(length, step)), step));
                    if random.u8(..5) == 0 {
                        let depth = refusals.call(|| pool.try_checkpoint());
                        refusals.call(|| pool.try_acquire::<u64>(length).map(drop));
                        pool.rewind_to(depth).unwrap();
                    }
                }
                for (handle, step) in handles {
                    assert!(pool.get(handle).unwrap().iter().all(|&number| number == step));
                }
                pool.rewind();
            }
        });
    }
    assert!(failed > rounds(100, 1), "{failed} calls failed");
}

#[test]
fn refused_memory_for_a_new_stack() {
    let arena = || Arena { lines: RefCell::new(Vec::new()), ..Arena::new() };
    let given = (0..).find(|&nth| {
        let arena = arena();
        let (pool, refused) = refusing_one(nth, || {
            Pool::<ArenaBackend>::with_config(arena, PoolConfig::new()).map(|_| ())
        });
        match (pool, refused) {
            (Err(PoolError::Bookkeeping { requested }), true) if requested > 100 => false,
            (Ok(()), false) => true,
            (other, _) => panic!("{other:?}"),
        }
    });
    assert_eq!(given, Some(1), "the state alone");
}
