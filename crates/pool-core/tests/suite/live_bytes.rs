//! The count of live bytes, against a model that adds and subtracts as arrays come and go.

use fastrand::Rng;
use pool_conformance::HeapBackend;
use pool_core::{PoolConfig, PoolError, Scope};

use crate::counting::refusing_one;
use crate::support::{dynamic_heap_pool, heap_pool, heap_pool_with, rounds, slots_per_table, take};

const COUNTED: PoolConfig = PoolConfig::new().measure_live_bytes(true);

/// The live bytes of a program of nested scopes, and their peak.
#[derive(Clone, Copy, Default)]
struct Model {
    live: usize,
    peak: usize,
}

impl Model {
    fn take(&mut self, bytes: usize) {
        self.live += bytes;
        self.peak = self.peak.max(self.live);
    }

    /// Live bytes of an inner scope end with it; its peak stays.
    fn inner(&mut self, body: impl FnOnce(&mut Self)) {
        let live = self.live;
        body(self);
        self.live = live;
    }
}

/// A scope that takes arrays of all kinds, and opens others, in any order.
fn body(scope: &mut Scope<'_, HeapBackend>, model: &mut Model, random: &mut Rng, depth: usize) {
    for _ in 0..random.usize(0..7) {
        let length = random.usize(0..200);
        match random.u8(0..8) {
            0 => model.take(scope.acquire::<u8, _>(length).len()),
            1 => model.take(size_of_val(scope.acquire_zeroed::<f64, _>(length))),
            2 => model.take(size_of_val(scope.acquire_with(length, |_| (1_u8, 2_u32)))),
            3 => model.take(4 * scope.acquire::<u32, _>(&[length, 1, 2][..]).len()),
            4 => push(scope, model, length),
            5 => keep(scope, model, length, random),
            _ if depth > 0 => {
                model.inner(|model| body(&mut scope.scope(), model, random, depth - 1));
            }
            _ => {}
        }
        let counted = scope.stats().peak_live_bytes;
        assert!(counted == Some(model.peak) || model.peak == 0, "{counted:?} for {}", model.peak);
    }
}

/// A vector that grows: if it gets another block, both are live until its elements are copied.
fn push(scope: &Scope<'_, HeapBackend>, model: &mut Model, length: usize) {
    let mut vector = scope.acquire_vec::<u16>(length / 8);
    let mut bytes = 2 * vector.capacity();
    model.take(bytes);
    // Above the vector's slot, so that the changed slot is not the last.
    model.take(scope.acquire::<u8, _>(5).len());
    for element in 0..length {
        let block = vector.as_ptr();
        vector.push(u16::try_from(element).unwrap());
        let now = 2 * vector.capacity();
        if vector.as_ptr() == block {
            model.live -= bytes;
            model.take(now);
        } else {
            model.take(now);
            model.live -= bytes;
        }
        bytes = now;
    }
}

/// An array of an inner scope that is kept.
fn keep(scope: &mut Scope<'_, HeapBackend>, model: &mut Model, length: usize, random: &mut Rng) {
    let before = random.bool();
    let mut inner_bytes = 0;
    let kept = scope.keep(|inner| {
        let take = || size_of_val(inner.acquire::<u64, _>(30));
        inner_bytes += if before { take() } else { 0 };
        let kept = inner.acquire_with(length, |_| (3_u16, 4_u64));
        inner_bytes += if before { 0 } else { take() };
        kept
    });
    let bytes = size_of_val(kept);
    model.inner(|model| model.take(inner_bytes + bytes));
    model.take(bytes);
}

#[test]
#[cfg_attr(miri, ignore = "SKIPPED: compares numbers of bytes; the random programs run this code")]
fn random_scopes_have_the_peak_of_the_model() {
    for seed in 0..rounds(400, 2) as u64 {
        let mut random = Rng::with_seed(seed);
        let (mut pool, _) = heap_pool_with(COUNTED);
        let mut model = Model::default();
        for _ in 0..3 {
            model.inner(|model| body(&mut pool.scope(), model, &mut random, 3));
        }
        let stats = pool.stats();
        assert_eq!(stats.peak_live_bytes.unwrap_or(0), model.peak, "seed {seed}");
        assert!(stats.held_per_live_byte().is_none_or(|ratio| ratio >= 1.0), "seed {seed}");
    }
}

#[test]
fn counts_only_where_it_is_asked_for() {
    let (mut pool, _) = heap_pool();
    pool.scope().acquire::<u64, _>(10);
    assert_eq!(pool.stats().peak_live_bytes, None);
    let plain = pool.stats().bookkeeping_bytes;

    pool.configure(COUNTED).unwrap();
    pool.scope().acquire::<u64, _>(10);
    assert_eq!(pool.stats().peak_live_bytes, Some(80));
    assert!(pool.stats().bookkeeping_bytes > plain);

    pool.configure(PoolConfig::new()).unwrap();
    let cold = pool.stats().cold_acquires;
    pool.scope().acquire::<u64, _>(10);
    let stats = pool.stats();
    assert_eq!((stats.peak_live_bytes, stats.cold_acquires), (Some(80), cold));
    assert_eq!(stats.bookkeeping_bytes, plain);
    pool.clear();
    assert_eq!(pool.stats().peak_live_bytes, None);
}

#[test]
#[cfg_attr(miri, ignore = "SKIPPED: compares numbers of bytes; the random programs run this code")]
fn counts_over_several_tables_and_across_rewinds() {
    let (mut pool, _) = dynamic_heap_pool();
    pool.configure(COUNTED).unwrap();
    let slots = 2 * slots_per_table() + 1;
    for _ in 0..2 {
        pool.checkpoint();
        for _ in 0..slots {
            pool.acquire::<u32>(3);
        }
        pool.rewind();
        pool.acquire::<u32>(1);
    }
    // One array of the first round is still there in the second.
    assert_eq!(pool.stats().peak_live_bytes, Some(12 * slots + 4));
}

#[test]
fn refused_memory_for_the_count() {
    let (mut pool, _) = heap_pool();
    take(&pool.scope(), slots_per_table(), 2);
    pool.configure(COUNTED).unwrap();
    let scope = pool.scope();
    scope.acquire::<u64, _>(2);
    let mut refusals = 0;
    for slots in 2..slots_per_table() {
        let (view, refused) =
            refusing_one(0, || scope.try_acquire::<u64, _>(2).map(|view| view.len()));
        if refused {
            let requested = slots * size_of::<usize>();
            assert_eq!(view.unwrap_err(), PoolError::Bookkeeping { requested });
            assert_eq!(scope.stats().active_slots, slots - 1);
            scope.acquire::<u64, _>(2);
            refusals += 1;
        }
        assert_eq!(scope.stats().peak_live_bytes, Some(16 * slots));
    }
    assert!(refusals >= 2, "the count grew so often");
}

#[test]
fn a_sum_of_pools_is_known_where_each_is() {
    let (mut counted, _) = heap_pool_with(COUNTED);
    counted.scope().acquire::<u8, _>(7);
    let (plain, _) = heap_pool();
    let counted = counted.stats();
    assert_eq!(counted.plus(&counted).peak_live_bytes, Some(14));
    assert_eq!(counted.plus(&plain.stats()).peak_live_bytes, None);
    assert_eq!(plain.stats().held_per_live_byte(), None);
}
