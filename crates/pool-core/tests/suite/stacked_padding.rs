//! Values with padding in a stack: while they are live, acquires above them stay hot, and their bytes are zeroed once
//! before they are read.

use std::collections::HashSet;

use fastrand::Rng;
use pool_conformance::{HeapBackend, Ledger};
use pool_core::{DynamicPool, Pool, PoolConfig, Scope, Stacked};

use crate::support::{address, assert_initialised, assert_stamped, rounds, stamp};

type StackedHeap = Stacked<HeapBackend>;

/// Sixteen bytes, seven of them padding.
type Padded = (u8, u64);
const PADDED: Padded = (0xFF, u64::MAX);

fn pool() -> Pool<StackedHeap> {
    Pool::new(Ledger::new())
}

/// Acquires and reads numbers in every way that may read recycled contents, or zeroes.
fn read(scope: &Scope<'_, StackedHeap>, length: usize, owner: u64) {
    let recycled = scope.acquire::<u64, _>(length);
    assert_initialised(bytemuck::cast_slice(recycled));
    stamp(recycled, owner);
    let zeroed = scope.acquire_zeroed::<u64, _>(length);
    assert!(zeroed.iter().all(|&number| number == 0));
    let tried = scope.try_acquire::<u32, _>(3 * length).unwrap();
    assert_initialised(bytemuck::cast_slice(tried));
    let shaped = scope.acquire::<u64, _>(&[length, 2][..]);
    assert_eq!(shaped.shape(), [length, 2]);
    assert_stamped(recycled, owner);
}

#[test]
fn acquires_above_live_padding_are_hot() {
    for groups in [1, 2, rounds(8, 3), rounds(31, 4)] {
        let mut pool = pool();
        let mut pass = || {
            let mut scope = pool.scope();
            let mut live = Vec::with_capacity(groups);
            for group in 0..groups {
                live.push(scope.acquire_with(1 + group % 5, |_| PADDED));
                scope.acquire_uninit::<u64, _>(3);
                read(&scope, 1 + group % 7, group as u64);
            }
            // An array of an inner scope never overlaps another array with padding.
            read(&scope.scope(), 5, 0);
            assert!(live.iter().all(|padded| padded.iter().all(|&value| value == PADDED)));
            pool.stats().cold_acquires
        };
        (0..4).for_each(|_| _ = pass());
        let settled = pass();
        for _ in 0..3 {
            assert_eq!(pass(), settled, "{groups} arrays with padding");
        }
    }
}

/// Any number of adjacent arrays with padding are one range.
#[test]
fn many_arrays_with_padding_leave_the_pool_hot() {
    let mut pool = pool();
    let mut pass = || {
        let scope = pool.scope();
        for length in 0..rounds(200, 12) {
            scope.acquire_with(1 + length % 3, |_| PADDED);
        }
        read(&scope, 5, 1);
        pool.stats().cold_acquires
    };
    (0..4).for_each(|_| _ = pass());
    assert_eq!(pass(), pass());
}

#[test]
fn a_dynamic_pool_is_hot_above_padding() {
    let mut pool = DynamicPool::<StackedHeap>::new(Ledger::new());
    let mut pass = || {
        pool.checkpoint();
        let below = pool.acquire_filled(4, 7_u64);
        let (arrays, scope) = pool.split();
        for _ in 0..3 {
            let padded = scope.acquire_with(2, |_| PADDED);
            let above = scope.acquire::<u64, _>(9);
            assert_initialised(bytemuck::cast_slice(above));
            above.fill(1);
            assert_eq!(padded, [PADDED; 2]);
        }
        assert_eq!(arrays.get(below).unwrap(), [7; 4]);
        let cold = scope.stats().cold_acquires;
        pool.rewind();
        cold
    };
    (0..4).for_each(|_| _ = pass());
    let settled = pass();
    assert_eq!(pass(), settled);
}

/// A scope that begins below reads the bytes below the padding's end: they are zeroed, once.
#[test]
fn padding_is_zeroed_once_where_an_outer_scope_reads_it() {
    let mut pool = pool();
    for _ in 0..3 {
        pool.scope().acquire::<u64, _>(100);
    }
    let mut scope = pool.scope();
    let below = scope.acquire::<u64, _>(8);
    stamp(below, 1);
    {
        let inner = scope.scope();
        let padded = inner.acquire_with(10, |_| PADDED);
        let above = inner.acquire::<u64, _>(8);
        stamp(above, 2);
        assert_eq!(padded, [PADDED; 10]);
        assert_stamped(above, 2);
    }
    let before = scope.stats().cold_acquires;
    for pass in 0..3 {
        let inner = scope.scope();
        let array = inner.acquire::<u64, _>(30);
        assert_eq!(array[..20], [pass; 20], "zeroed in the first pass alone");
        array.fill(pass + 1);
    }
    assert_eq!(scope.stats().cold_acquires, before + 1);
    assert_stamped(below, 1);
}

/// A busy pool refuses acquires above padding, too, and the modes of the configuration count each acquire.
#[test]
fn modes_reach_arrays_above_padding() {
    for (config, is_poisoned) in
        [(PoolConfig::new().poison(true), true), (PoolConfig::new().fresh(true), false)]
    {
        let ledger = Ledger::new();
        let mut pool = Pool::<StackedHeap>::with_config(ledger.clone(), config).unwrap();
        for _ in 0..3 {
            let scope = pool.scope();
            scope.acquire_with(4, |_| PADDED);
            let first = scope.acquire::<u64, _>(10);
            assert!(!is_poisoned || first.iter().all(|&number| number == u64::MAX));
            first.fill(3);
            let before = scope.stats().cold_acquires;
            scope.acquire::<u64, _>(10);
            assert_eq!(scope.stats().cold_acquires, before + 1);
        }
    }
}

/// A naive model: the words that were written with padding and not read since.
#[derive(Default)]
struct Model {
    dirty: HashSet<usize>,
    growths: u64,
}

impl Model {
    /// Notes an array, which holds `length` words.
    fn words(start: usize, length: usize) -> impl Iterator<Item = usize> {
        (0..length).map(move |word| start + 8 * word)
    }

    fn written(&mut self, start: usize, length: usize) {
        self.dirty.extend(Self::words(start, length));
    }

    fn read(&mut self, array: &[u64]) {
        for (word, &number) in Self::words(address(array), array.len()).zip(array) {
            assert!(!self.dirty.remove(&word) || number == 0, "{number:x} at {word:x}");
        }
    }

    /// The notes do not apply to newly allocated memory.
    fn forget_where_chunks_moved(&mut self, growths: u64) {
        if std::mem::replace(&mut self.growths, growths) != growths {
            self.dirty.clear();
        }
    }
}

/// Arrays with and without padding, read and written first, in scopes of any depth.
fn program(scope: &mut Scope<'_, StackedHeap>, depth: usize, random: &mut Rng, model: &mut Model) {
    let (mut padded, mut plain) = (Vec::new(), Vec::new());
    for step in 0..random.u64(1..6) {
        let length = random.usize(1..12);
        match random.u8(..8) {
            0..=2 => {
                let array = scope.acquire_with(length, |_| PADDED);
                model.forget_where_chunks_moved(scope.stats().growths);
                model.written(array.as_ptr().addr(), 2 * length);
                padded.push(array);
            }
            3..=5 => {
                let array = scope.acquire::<u64, _>(length);
                model.forget_where_chunks_moved(scope.stats().growths);
                assert_initialised(bytemuck::cast_slice(array));
                model.read(array);
                stamp(array, step);
                plain.push((array, step));
            }
            6 => {
                // Written first: the bytes stay dirty for the pool, which zeroes them for the next reader.
                let array = scope.acquire_filled(length, step);
                model.forget_where_chunks_moved(scope.stats().growths);
                stamp(array, step);
                plain.push((array, step));
            }
            _ if depth < 4 => program(&mut scope.scope(), depth + 1, random, model),
            _ => {}
        }
    }
    assert!(padded.iter().all(|array| array.iter().all(|&value| value == PADDED)));
    plain.iter().for_each(|(array, owner)| assert_stamped(array, *owner));
}

#[test]
fn random_programs_read_no_byte_of_padding() {
    for seed in 0..rounds(300, 4) as u64 {
        let (mut random, mut pool) = (Rng::with_seed(seed), pool());
        let mut model = Model::default();
        for _ in 0..rounds(8, 3) {
            program(&mut pool.scope(), 0, &mut random, &mut model);
        }
    }
}
