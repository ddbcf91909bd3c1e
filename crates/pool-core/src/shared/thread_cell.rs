//! Defines the state that shared pools store for each thread. The state consists of the thread's
//! magazine in each pool and a cell that contains the current magazine's address.
//!
//! Cells are never freed, because other threads might read them at any time. When a thread ends, a
//! later thread reuses the ended thread's cell and the magazines that the cell owns.

use alloc::boxed::Box;
use core::cell::Cell;
use core::ptr::{NonNull, null_mut};
use core::sync::atomic::{AtomicPtr, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread_local;

use crate::try_box::{into_box, try_box};

/// The maximum number of pools for which a thread can store a magazine.
const POOLS: usize = 4;

/// The cell that identifies a thread as the owner of its magazines.
#[derive(Debug)]
pub(super) struct ThreadCell {
    /// The address of the magazine that the thread is currently using, or 0 if the thread is using
    /// none.
    pub(super) in_use: AtomicUsize,
    /// The next cell in the list of cells whose threads have ended.
    next: AtomicPtr<ThreadCell>,
}

/// The magazine that a thread uses in one pool.
#[derive(Clone, Copy, Debug)]
struct Home {
    /// The identity of the pool, or 0 if there is no pool.
    pool: u64,
    /// The magazine, or `None` if the pool has no magazine for the thread.
    magazine: Option<NonNull<()>>,
}

/// The state of a thread. The type has no destructor, so reading the state costs no more than
/// reading a static variable.
struct ThreadHomes {
    cell: Cell<Option<&'static ThreadCell>>,
    has_ended: Cell<bool>,
    homes: [Cell<Home>; POOLS],
}

/// The list of cells whose threads have ended. The lock is held only while cells are linked or
/// unlinked.
static WITHOUT_THREAD: Mutex<AtomicPtr<ThreadCell>> = Mutex::new(AtomicPtr::new(null_mut()));

thread_local! {
    static THREAD: ThreadHomes = const {
        ThreadHomes {
            cell: Cell::new(None),
            has_ended: Cell::new(false),
            homes: [const { Cell::new(Home { pool: 0, magazine: None }) }; POOLS],
        }
    };

    /// A value whose destructor runs when the thread ends. The value is accessed when a thread
    /// acquires a cell, but never when arrays are acquired or returned.
    static ENDING: Ending = const { Ending };
}

/// A type whose destructor makes the thread's cell available to other threads.
struct Ending;

impl Drop for Ending {
    fn drop(&mut self) {
        THREAD.with(|thread| {
            // From this point on, the ending thread has no cell, so only the cell's next owner uses
            // the cell.
            thread.has_ended.set(true);
            if let Some(cell) = thread.cell.take() {
                let list = WITHOUT_THREAD.lock().unwrap_or_else(PoisonError::into_inner);
                cell.next.store(list.load(Ordering::Relaxed), Ordering::Relaxed);
                list.store(core::ptr::from_ref(cell).cast_mut(), Ordering::Relaxed);
            }
        });
    }
}

/// Returns the calling thread's magazine in the pool with the given identity, together with the
/// thread's cell.
#[inline(always)]
pub(super) fn home(pool: u64) -> Option<(NonNull<()>, &'static ThreadCell)> {
    THREAD.with(|thread| {
        let home = thread.homes[place_of(pool)].get();
        let magazine = home.magazine.filter(|_| home.pool == pool)?;
        Some((magazine, thread.cell.get()?))
    })
}

/// Returns `true` if the thread has already searched for its magazine in the pool with the given
/// identity.
pub(super) fn is_known(pool: u64) -> bool {
    THREAD.with(|thread| thread.homes[place_of(pool)].get().pool == pool)
}

/// Records which magazine the calling thread uses in a pool. `magazine` is `None` if the pool has
/// no magazine for the thread.
pub(super) fn remember(pool: u64, magazine: Option<NonNull<()>>) {
    THREAD.with(|thread| thread.homes[place_of(pool)].set(Home { pool, magazine }));
}

/// Returns the calling thread's cell. Returns `None` if the thread is ending or if the host cannot
/// allocate memory for a cell.
pub(super) fn own_cell() -> Option<&'static ThreadCell> {
    THREAD.with(|thread| {
        if let Some(cell) = thread.cell.get() {
            return Some(cell);
        }
        if thread.has_ended.get() || ENDING.try_with(|_| ()).is_err() {
            return None;
        }
        let cell = take_cell().or_else(new_cell)?;
        thread.cell.set(Some(cell));
        Some(cell)
    })
}

/// Removes and returns a cell from the list of cells whose threads have ended.
fn take_cell() -> Option<&'static ThreadCell> {
    let list = WITHOUT_THREAD.lock().unwrap_or_else(PoisonError::into_inner);
    // SAFETY: the list contains only cells created by `new_cell`, which are never freed.
    let cell = unsafe { list.load(Ordering::Relaxed).as_ref() }?;
    list.store(cell.next.load(Ordering::Relaxed), Ordering::Relaxed);
    Some(cell)
}

fn new_cell() -> Option<&'static ThreadCell> {
    let cell = ThreadCell { in_use: AtomicUsize::new(0), next: AtomicPtr::new(null_mut()) };
    let cell = try_box(cell)?;
    // SAFETY: `try_box` created the cell. No other pointer to the cell exists.
    Some(Box::leak(unsafe { into_box(cell) }))
}

#[expect(clippy::cast_possible_truncation, reason = "the remainder is small")]
#[inline(always)]
fn place_of(pool: u64) -> usize {
    pool as usize % POOLS
}
