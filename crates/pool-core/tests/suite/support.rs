//! Shared code of the test modules: pools with their ledger, stamps by which a view is recognised,
//! the size of a slot table, and the text of a panic.

use std::any::Any;
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::OnceLock;

use pool_conformance::{HeapBackend, Ledger};
use pool_core::{DynamicPool, Layout, Pool, PoolBackend, PoolConfig, PoolStats, Scope};

/// A pool of heap memory and the ledger that watches it.
pub(crate) fn heap_pool() -> (Pool<HeapBackend>, Ledger) {
    heap_pool_with(PoolConfig::new())
}

/// Does the same as [`heap_pool`], with a configuration.
pub(crate) fn heap_pool_with(config: PoolConfig) -> (Pool<HeapBackend>, Ledger) {
    let ledger = Ledger::new();
    (Pool::with_config(ledger.clone(), config).unwrap(), ledger)
}

/// Does the same as [`heap_pool`], of either layout.
pub(crate) fn pool_of<B: PoolBackend<Context = Ledger>>() -> (Pool<B>, Ledger) {
    pool_with(PoolConfig::new())
}

/// Does the same as [`pool_of`], with a configuration.
pub(crate) fn pool_with<B: PoolBackend<Context = Ledger>>(config: PoolConfig) -> (Pool<B>, Ledger) {
    let ledger = Ledger::new();
    (Pool::with_config(ledger.clone(), config).unwrap(), ledger)
}

/// Does the same as [`dynamic_heap_pool`], of either layout.
pub(crate) fn dynamic_pool_of<B: PoolBackend<Context = Ledger>>() -> (DynamicPool<B>, Ledger) {
    let ledger = Ledger::new();
    (DynamicPool::new(ledger.clone()), ledger)
}

/// `true` if a backend's pools have slots.
pub(crate) trait HasSlots: PoolBackend {
    const HAS_SLOTS: bool = <Self::Layout as Layout<Self>>::HAS_SLOTS;
}

impl<B: PoolBackend> HasSlots for B {}

/// Compares the number of slots of a scope with the right one, if the layout has slots.
#[track_caller]
pub(crate) fn assert_active<B: HasSlots>(found: usize, right: usize) {
    if B::HAS_SLOTS {
        assert_eq!(found, right, "slots that are handed out");
    }
}

/// A dynamic pool of heap memory and the ledger that watches it.
pub(crate) fn dynamic_heap_pool() -> (DynamicPool<HeapBackend>, Ledger) {
    let ledger = Ledger::new();
    (DynamicPool::new(ledger.clone()), ledger)
}

/// Returns the number of repetitions: `full`, or `interpreted` if every step is interpreted.
pub(crate) const fn rounds(full: usize, interpreted: usize) -> usize {
    if cfg!(miri) { interpreted } else { full }
}

/// The address of the first element.
pub(crate) fn address<T>(view: &[T]) -> usize {
    view.as_ptr().addr()
}

/// The number of elements at each end of a view that have stamps of their own. Miri writes and
/// compares the bytes between them in one piece, which takes it no longer than one element.
const EDGE: usize = if cfg!(miri) { 500 } else { usize::MAX / 2 };

/// Returns the range of the elements that share a stamp.
fn middle(length: usize) -> Range<usize> {
    let start = EDGE.min(length);
    start..length.saturating_sub(EDGE).max(start)
}

/// Returns the byte that the elements in the middle of a view consist of.
fn shared_stamp(owner: u64) -> u8 {
    owner.to_le_bytes()[0]
}

/// Writes into every element the stamp that [`assert_stamped`] checks.
pub(crate) fn stamp(view: &mut [u64], owner: u64) {
    let middle = middle(view.len());
    for index in (0..middle.start).chain(middle.end..view.len()) {
        view[index] = owner << 32 | index as u64;
    }
    bytemuck::cast_slice_mut::<_, u8>(&mut view[middle]).fill(shared_stamp(owner));
}

/// Checks that no other code has written to the view since it was stamped.
#[track_caller]
pub(crate) fn assert_stamped(view: &[u64], owner: u64) {
    let middle = middle(view.len());
    for index in (0..middle.start).chain(middle.end..view.len()) {
        assert_eq!(view[index], owner << 32 | index as u64, "element {index} of owner {owner}");
    }
    let shared = bytemuck::cast_slice::<_, u8>(&view[middle.clone()]);
    assert!(
        shared == vec![shared_stamp(owner); shared.len()],
        "elements {middle:?} of owner {owner}"
    );
}

/// Reads every byte: under Miri, one that is not initialised is undefined behaviour, which is then reported.
#[track_caller]
pub(crate) fn assert_initialised(bytes: &[u8]) {
    // Compared in one piece, which Miri does in no time.
    assert!(bytes == bytes.to_vec());
}

/// Takes `count` slots, each with `length` `u64`s.
pub(crate) fn take<B: PoolBackend>(scope: &Scope<'_, B>, count: usize, length: usize) {
    for _ in 0..count {
        scope.acquire::<u64, _>(length);
    }
}

/// Returns the number of slots of a table, from the growth of the bookkeeping.
pub(crate) fn slots_per_table() -> usize {
    static SEEN: OnceLock<usize> = OnceLock::new();
    *SEEN.get_or_init(count_slots_of_a_table)
}

fn count_slots_of_a_table() -> usize {
    let (mut pool, _) = heap_pool();
    let scope = pool.scope();
    let one_table = scope.stats().bookkeeping_bytes;
    while scope.stats().bookkeeping_bytes == one_table {
        scope.acquire::<u64, _>(0);
    }
    scope.active_slots() - 1
}

/// Returns the number of a pool's tables after the first one.
pub(crate) fn further_tables(stats: &PoolStats) -> usize {
    let (pool, _) = heap_pool();
    let one_table = pool.stats().bookkeeping_bytes;
    let (mut larger, _) = heap_pool();
    let scope = larger.scope();
    take(&scope, slots_per_table() + 1, 0);
    let table = scope.stats().bookkeeping_bytes - one_table;
    (stats.bookkeeping_bytes - one_table) / table
}

/// Runs what must panic, and returns the text of the panic.
pub(crate) fn panic_text<R>(body: impl FnOnce() -> R) -> String {
    match catch_unwind(AssertUnwindSafe(body)) {
        Ok(_) => panic!("this must panic"),
        Err(payload) => text_of(payload.as_ref()),
    }
}

fn text_of(payload: &(dyn Any + Send)) -> String {
    let formatted = payload.downcast_ref::<String>().cloned();
    let literal = payload.downcast_ref::<&str>().map(ToString::to_string);
    formatted.or(literal).expect("a panic with a text")
}

/// `true` if a type can be sent to another thread, as a value, so that a test can require `false`.
macro_rules! is_send {
    ($type:ty) => {{
        struct Probe<T: ?Sized>(std::marker::PhantomData<T>);
        #[allow(dead_code, reason = "unused for the types that are Send")]
        trait NotSend {
            const SEND: bool = false;
        }
        impl<T: ?Sized> NotSend for Probe<T> {}
        #[allow(dead_code, reason = "unused for the types that are not Send")]
        impl<T: ?Sized + Send> Probe<T> {
            const SEND: bool = true;
        }
        <Probe<$type>>::SEND
    }};
}

/// `true` if a type can be shared between threads; see [`is_send`].
macro_rules! is_sync {
    ($type:ty) => {{
        struct Probe<T: ?Sized>(std::marker::PhantomData<T>);
        #[allow(dead_code, reason = "unused for the types that are Sync")]
        trait NotSync {
            const SYNC: bool = false;
        }
        impl<T: ?Sized> NotSync for Probe<T> {}
        #[allow(dead_code, reason = "unused for the types that are not Sync")]
        impl<T: ?Sized + Sync> Probe<T> {
            const SYNC: bool = true;
        }
        <Probe<$type>>::SYNC
    }};
}

pub(crate) use {is_send, is_sync};
