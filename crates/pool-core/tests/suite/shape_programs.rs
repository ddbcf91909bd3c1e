//! Random programs against one invariant of the raw layer: a cached shape of a slot fits the slot's
//! block. Blocks come and go in every way, some by an error or a panic. Each array lies in the
//! current block of its slot, by the ledger.

use pool_conformance::panics::{catch_quietly, text};
use pool_conformance::{Ledger, Refusal};
use pool_core::{Compaction, NdView, PodElement, Pool, PoolConfig, Scope};

use super::Heap;
use crate::support::{HasSlots, address, pool_of, rounds};

/// Small and large, without elements, and of every kind of comparison.
const SHAPES: [&[usize]; 9] = [
    &[],
    &[3],
    &[0, 3],
    &[200],
    &[2, 1, 3, 1],
    &[2, 1, 300, 1],
    &[1, 2, 1, 2, 1],
    &[5, 1, 1, 1, 1, 1, 1, 40],
    &[1, 2, 1, 1, 1, 1, 1, 1, 2],
];

/// An array of the scope's next slot, if there is memory, compared with its expected contents.
fn array<T: PodElement>(scope: &Scope<'_, Heap>, ledger: &Ledger, dims: &[usize]) {
    let Ok(mut array) = scope.try_acquire::<T, _>(dims) else { return };
    let count: usize = dims.iter().product();
    assert_eq!((array.shape(), array.len(), NdView::rank(&array)), (dims, count, dims.len()));
    let elements = array.as_mut_slice();
    assert_eq!(elements.len(), count);
    elements.fill(T::zeroed());
    if size_of_val(elements) > 0 {
        let (start, bytes) = ledger.block_of(address(elements)).expect("a block that is live");
        let offset = address(elements) - start;
        assert!(offset + size_of_val(elements) <= bytes, "{dims:?}");
        assert!(!Heap::HAS_SLOTS || offset == 0, "{dims:?}");
    }
}

fn any_array(scope: &Scope<'_, Heap>, ledger: &Ledger, number: usize) {
    let dims = SHAPES[number % SHAPES.len()];
    match number / SHAPES.len() % 4 {
        0 => array::<u8>(scope, ledger, dims),
        1 => array::<f64>(scope, ledger, dims),
        2 => array::<()>(scope, ledger, dims),
        _ => array::<[u32; 5]>(scope, ledger, dims),
    }
}

fn step(pool: &mut Pool<Heap>, ledger: &Ledger, below: &mut impl FnMut(usize) -> usize) {
    match below(16) {
        0 => drop(pool.trim()),
        1 => drop(pool.compact(&Compaction { minimum_bytes: 1, ..Compaction::default() })),
        2 => pool.sample_lengths(),
        3 => {
            let config = PoolConfig::new().ways(1 + below(4)).byte_limit(4096 << below(4));
            let config = config.poison(below(3) == 0).fresh(below(4) == 0);
            pool.configure(config).expect("all is in range");
        }
        4 => ledger.refuse(Refusal::Once(below(3))),
        5 => ledger.refuse(Refusal::PanicOnce(below(3))),
        6 => ledger.refuse(Refusal::From(below(3))),
        7 => ledger.refuse(Refusal::Never),
        // Another block, with nothing that is remembered.
        8 => drop(pool.scope().try_acquire::<u64, _>(below(600)).map(|view| view.fill(0))),
        _ => {
            let mut scope = pool.scope();
            any_array(&scope, ledger, below(36));
            if below(4) == 0 {
                scope.trim();
            }
            let inner = scope.scope();
            for _ in 0..3 {
                any_array(&inner, ledger, below(36));
            }
        }
    }
}

#[test]
fn every_remembered_shape_fits_the_block_of_its_slot() {
    let mut random = fastrand::Rng::with_seed(7);
    let mut below = |end: usize| random.usize(..end);
    let (mut hits, mut panics) = (0, 0);
    for _ in 0..rounds(400, 1) {
        let (mut pool, ledger) = pool_of::<Heap>();
        for _ in 0..rounds(200, 60) {
            let ended = catch_quietly(|| step(&mut pool, &ledger, &mut below));
            if let Err(panic) = ended {
                let text = text(panic.as_ref());
                assert!(text.starts_with("the test panics instead"), "{text}");
                panics += 1;
            }
        }
        hits += pool.stats().shape_hits;
        drop(pool);
        assert_eq!(ledger.live_blocks(), 0);
    }
    assert!(hits > 0 && panics < rounds(8_000, 20), "{hits} hits, {panics} panics");
}
