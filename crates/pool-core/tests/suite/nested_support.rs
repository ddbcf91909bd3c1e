//! A thread's list of stacked pools of a ledger, and guards like those of the facade, so that tests know every block.

use std::cell::{Cell, RefCell};
use std::ops::{Deref, DerefMut};
use std::ptr::NonNull;
use std::rc::Rc;
use std::sync::atomic::AtomicPtr;
use std::sync::{Mutex, PoisonError};

use pool_conformance::{HeapBackend, Ledger};
use pool_core::thread_list::{HeldPool, ThreadList, ThreadLists, ThreadRecord};
use pool_core::{Device, Pool, PoolConfig, PoolStats, Stacked};

pub(crate) type Heap = Stacked<HeapBackend>;

/// The pools of one thread.
pub(crate) struct Stacks {
    pub(crate) ledger: Ledger,
    list: Rc<ThreadList<Heap>>,
    record: NonNull<ThreadRecord<Heap>>,
    registry: RefCell<ThreadLists<Heap>>,
    config: Cell<PoolConfig>,
}

impl Stacks {
    pub(crate) fn new() -> Self {
        let list = Rc::new(ThreadList::new());
        let record = ThreadRecord::new(&list, PoolConfig::new()).unwrap();
        let mut registry = ThreadLists::new();
        // SAFETY: a new record, whose list is at its address until `drop` has removed the record.
        unsafe { registry.add(record) };
        let config = Cell::new(PoolConfig::new());
        Self { ledger: Ledger::new(), list, record, registry: RefCell::new(registry), config }
    }

    /// Makes four pools and uses them inside each other, so that they may lend memory.
    pub(crate) fn with_lenders() -> Self {
        let stacks = Self::new();
        stacks.nest(4);
        stacks
    }

    /// Opens guards inside each other, to a depth, and drops them.
    pub(crate) fn nest(&self, depth: usize) {
        let _outer = self.guard();
        if depth > 1 {
            self.nest(depth - 1);
        }
    }

    /// Sets the configuration of the pools that are made from now on.
    pub(crate) fn set_config(&self, config: PoolConfig) {
        self.config.set(config);
    }

    /// Takes an idle pool, or makes one.
    pub(crate) fn guard(&self) -> Guard {
        match self.list.take() {
            Some(held) => Guard { held: Some(held), list: Rc::clone(&self.list) },
            None => {
                self.guard_of(Pool::with_config(self.ledger.clone(), self.config.get()).unwrap())
            }
        }
    }

    /// Adds a pool of this ledger to the list, as a pool in use.
    pub(crate) fn guard_of(&self, pool: Pool<Heap>) -> Guard {
        let held = HeldPool::new(pool).unwrap();
        // SAFETY: a new entry, which is put into this thread's list alone.
        unsafe { self.registry.borrow_mut().add_entry(self.record, &held) };
        self.list.enter(&held);
        Guard { held: Some(held), list: Rc::clone(&self.list) }
    }

    /// Acts as another thread's `trim_all`: replaces the idle pools. Returns their number.
    pub(crate) fn trim_all(&self) -> usize {
        self.trim_all_while(|| ())
    }

    /// Acts as [`trim_all`](Self::trim_all); `meanwhile` runs after the pools were replaced and may
    /// be taken.
    pub(crate) fn trim_all_while(&self, meanwhile: impl FnOnce()) -> usize {
        let mut spares: Vec<_> = (0..8).map(|_| Pool::new(self.ledger.clone())).collect();
        let mut released = Vec::with_capacity(8);
        let barrier = || {
            meanwhile();
            true
        };
        // SAFETY: the list is at its address. There is one thread, so each of its steps is visible
        // to the next.
        unsafe { self.registry.borrow_mut().release(&mut spares, &mut released, barrier) };
        released.len()
    }

    /// The numbers of all pools, in use or idle.
    pub(crate) fn stats(&self) -> PoolStats {
        let none = PoolStats::none("all", Device { kind: "heap", ordinal: None });
        self.registry.borrow().stats(none)
    }

    /// The bytes that all pools hold, which the ledger confirms.
    #[track_caller]
    pub(crate) fn held(&self) -> usize {
        let bytes = self.stats().reserved_bytes;
        assert_eq!(bytes, self.ledger.live_bytes(), "the bytes of all pools are the backend's");
        bytes
    }
}

impl Drop for Stacks {
    fn drop(&mut self) {
        // SAFETY: the record is in the registry.
        unsafe { self.registry.get_mut().remove(self.record) };
        // SAFETY: it was just removed.
        unsafe { ThreadRecord::free(self.record) };
        // SAFETY: as above.
        unsafe { self.list.close() };
        if !std::thread::panicking() {
            assert_eq!(self.ledger.faults(), [], "faults of blocks");
        }
    }
}

/// A pool in use. Its drop returns it to its list.
pub(crate) struct Guard {
    held: Option<HeldPool<Heap>>,
    list: Rc<ThreadList<Heap>>,
}

impl Guard {
    /// Makes the pool go into another list.
    pub(crate) fn put_into(&mut self, stacks: &Stacks) {
        self.list = Rc::clone(&stacks.list);
    }

    /// Forgets the guard where leak checkers find its pool.
    pub(crate) fn forget(self) {
        show_to_leak_checkers(Box::into_raw(Box::new(self)).cast());
    }

    /// Writes the address of the entry where leak checkers find it, for a guard whose drop leaks the pool.
    pub(crate) fn leaks(&self) {
        // SAFETY: a held pool is an address. No code uses this copy; leak checkers find it.
        let address =
            unsafe { std::mem::transmute_copy::<Option<HeldPool<Heap>>, *mut ()>(&self.held) };
        show_to_leak_checkers(address);
    }
}

fn show_to_leak_checkers(address: *mut ()) {
    static LEAKED: Mutex<Vec<AtomicPtr<()>>> = Mutex::new(Vec::new());
    LEAKED.lock().unwrap_or_else(PoisonError::into_inner).push(AtomicPtr::new(address));
}

impl Deref for Guard {
    type Target = HeldPool<Heap>;

    fn deref(&self) -> &HeldPool<Heap> {
        self.held.as_ref().unwrap()
    }
}

impl DerefMut for Guard {
    fn deref_mut(&mut self) -> &mut HeldPool<Heap> {
        self.held.as_mut().unwrap()
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        if let Some(held) = self.held.take() {
            if let Some(held) = self.list.put_back(held) {
                self.list.put(held);
            }
        }
    }
}
