//! Guards that are taken and dropped by code which a stack runs in the middle of an operation.

use std::borrow::{Borrow, BorrowMut};
use std::cell::RefCell;
use std::sync::OnceLock;

use pool_conformance::adapted::{Adaptor, StackedAdaptor};
use pool_conformance::{AdaptedBackend, HeapBackend, Ledger};
use pool_core::thread_list::{HeldPool, ThreadList};
use pool_core::{Pool, Stacked};

type Hooked = Stacked<AdaptedBackend<Hooking>>;
type Hook = Box<dyn FnOnce()>;

thread_local! {
    /// Runs once, when the next descriptor is made.
    static HOOK: RefCell<Option<Hook>> = const { RefCell::new(None) };
}

/// A backend whose contexts have no state. Its descriptors run the hook.
struct Hooking;

struct Descriptor(u64);

impl Default for Descriptor {
    fn default() -> Self {
        if let Some(hook) = HOOK.take() {
            hook();
        }
        Self(0)
    }
}

impl Borrow<u64> for Descriptor {
    fn borrow(&self) -> &u64 {
        &self.0
    }
}

impl BorrowMut<u64> for Descriptor {
    fn borrow_mut(&mut self) -> &mut u64 {
        &mut self.0
    }
}

// SAFETY: everything is the heap's; its views do not use the reference.
unsafe impl Adaptor for Hooking {
    type Inner = HeapBackend;
    type Descriptor = Descriptor;

    fn inner(&self) -> &Ledger {
        static LEDGER: OnceLock<Ledger> = OnceLock::new();
        LEDGER.get_or_init(Ledger::new)
    }
}

// SAFETY: as above.
unsafe impl StackedAdaptor for Hooking {}

thread_local! {
    static LIST: ThreadList<Hooked> = const { ThreadList::new() };
}

fn take() -> HeldPool<Hooked> {
    LIST.with(|list| {
        list.take().unwrap_or_else(|| {
            let held = HeldPool::new(Pool::new(Hooking)).unwrap();
            list.enter(&held);
            held
        })
    })
}

fn put(held: HeldPool<Hooked>) {
    LIST.with(|list| list.put(held));
}

const LENGTH: usize = if cfg!(miri) { 300 } else { 3_000 };

/// An array is reserved before its shape is stored, and the cursor steps afterwards. An array that a hook takes in
/// between may not overlap it.
#[test]
fn what_a_hook_takes_is_not_lent_of_a_reserved_array() {
    thread_local! {
        static TAKEN: RefCell<Vec<HeldPool<Hooked>>> = const { RefCell::new(Vec::new()) };
    }
    for keeps in [true, false] {
        let mut outer = take();
        for _ in 0..2 {
            outer.scope().acquire::<u64, _>(LENGTH);
        }
        let scope = outer.scope();
        scope.acquire::<u64, _>(8).fill(1);
        HOOK.set(Some(Box::new(move || {
            let mut inner = take();
            inner.scope().acquire::<u64, _>(100).fill(2);
            if keeps {
                TAKEN.with_borrow_mut(|taken| taken.push(inner));
            } else {
                put(inner);
            }
        })));
        let columns = 5 + usize::from(keeps);
        let mut array = scope.acquire::<u64, _>(&[4, columns][..]);
        assert!(HOOK.with_borrow(Option::is_none), "the hook ran");
        array.as_mut_slice().fill(3);
        if let Some(mut inner) = TAKEN.with_borrow_mut(Vec::pop) {
            inner.scope().acquire::<u64, _>(100).fill(4);
            assert!(array.as_slice().iter().all(|&number| number == 3));
            put(inner);
        }
        assert!(array.as_slice().iter().all(|&number| number == 3));
        put(outer);
    }
    // SAFETY: the list has no record.
    LIST.with(|list| unsafe { list.close() });
}

/// A hook drops the lender of the pool that is in the middle of an operation, and so the pool becomes an owner.
#[test]
fn a_lender_that_a_hook_drops_hands_its_block_over() {
    let mut outer = take();
    // The outer pool becomes one that may lend.
    put(take());
    for _ in 0..2 {
        outer.scope().acquire::<u64, _>(LENGTH);
    }
    outer.scope().acquire::<u64, _>(8);
    let mut inner = take();
    let scope = inner.scope();
    let first = scope.acquire::<u64, _>(8);
    first.fill(1);
    assert_eq!(scope.stats().reserved_bytes, 0, "borrowed");
    HOOK.set(Some(Box::new(move || put(outer))));
    let mut array = scope.acquire::<u64, _>(&[3, 7][..]);
    array.as_mut_slice().fill(2);
    assert!(scope.stats().reserved_bytes >= 8 * LENGTH, "owned");
    let more = scope.acquire::<u64, _>(LENGTH);
    more.fill(3);
    assert!(first.iter().all(|&number| number == 1));
    assert!(array.as_slice().iter().all(|&number| number == 2));
    put(inner);
    // SAFETY: the list has no record.
    LIST.with(|list| unsafe { list.close() });
}
