//! A backend of another crate has `with_pool!` by a macro of three lines, which holds no `unsafe`.

mod shelf;

use pool_facade::prelude::*;

use self::shelf::{Shelf, ShelfError};
use crate::support::{forget, on_fresh_thread};

/// The code of a crate that has a backend. Its own names are those that a macro might use: the
/// attack `hyg1`.
#[forbid(unsafe_code)]
#[allow(non_upper_case_globals, reason = "names of variables that a macro might have")]
mod pools {
    use std::cell::Cell;

    use super::shelf::{Place, Shelf};

    thread_local! {
        pub(super) static IDLE: Cell<usize> = const { Cell::new(0) };
        pub(super) static CLOSER: Cell<usize> = const { Cell::new(0) };
    }

    pub(super) static context: usize = 1;
    pub(super) static is_for_thread: usize = 1;
    pub(super) static f: usize = 1;

    /// A backend that is named like a type parameter.
    type R = Shelf;

    pool_facade::local_pools! {
        R,
        context: || {
            IDLE.set(IDLE.get() + context);
            Place::for_thread()
        },
        is_for_thread: |place| {
            CLOSER.set(CLOSER.get() + is_for_thread * f);
            Place::is_chosen(place)
        },
    }
}

#[test]
fn the_callers_names_are_the_callers_where_pools_are_made() {
    on_fresh_thread(|| {
        for _ in 0..3 {
            with_pool!(Shelf, |scope| { scope.acquire_zeroed::<u8, _>(1)[0] = 1 });
        }
        let counted = (pools::IDLE.get(), pools::CLOSER.get());
        assert_eq!(counted, (1, 2), "contexts made, and idle pools asked for");
    });
}

#[test]
fn scopes_nest_and_pools_are_used_again() {
    on_fresh_thread(|| {
        for _ in 0..3 {
            with_pool!(Shelf, Cpu, Shelf, |outer, host, inner| {
                let (a, b) = (outer.acquire_filled(100, 1_u32), inner.acquire_filled(100, 2_u32));
                let c = host.acquire_filled(100, 3_u32);
                assert_eq!((a[99], b[99], c[99]), (1, 2, 3));
            });
        }
        let stats = local::<Shelf>().stats();
        assert_eq!((stats.pools, stats.growths, stats.active_slots), (2, 2, 0));
        assert_eq!(Shelf::places(), 2);
    });
}

#[test]
fn a_pool_is_taken_by_what_the_thread_has_chosen() {
    on_fresh_thread(|| {
        let ordinal = || with_pool!(Shelf, |scope| { scope.stats().device.ordinal });
        assert_eq!(ordinal(), Some(0));
        Shelf::choose(2);
        assert_eq!(ordinal(), Some(2));
        Shelf::choose(0);
        assert_eq!((ordinal(), Shelf::places()), (Some(0), 2));
        Shelf::choose(3);
        let error = try_with_pool!(Shelf, |scope| { scope.active_slots() }).unwrap_err();
        let PoolError::Backend { source, .. } = error else { panic!("{error}") };
        assert_eq!(source, ShelfError::NoShelf { chosen: 3 });
        Shelf::choose(2);
        assert_eq!((ordinal(), Shelf::places()), (Some(2), 2));
    });
}

#[test]
fn guards_come_back_in_any_order_and_clear_drops_what_is_idle() {
    on_fresh_thread(|| {
        let mut held: Vec<_> = (0..4).map(|_| local::<Shelf>()).collect();
        for guard in &mut held {
            guard.scope().acquire_filled(10, 1_u64);
        }
        held.swap(0, 2);
        drop(held);
        let mut guard = local::<Shelf>();
        guard.configure(PoolConfig::new().name("shelves")).unwrap();
        assert_eq!((guard.stats().pools, Shelf::places()), (4, 4));
        assert!(guard.clear().bytes > 0);
        assert_eq!((guard.stats().pools, Shelf::places()), (1, 1));
        let coming = local::<Shelf>();
        assert_eq!(coming.stats().name, "shelves");
        drop((guard, coming));
        forget(local::<Shelf>());
        assert_eq!(Shelf::places(), 2, "the forgotten one leaks, the other is idle");
    });
}

/// The contexts of a thread's pools are dropped when the thread ends.
#[test]
fn the_pools_end_with_their_thread() {
    use std::sync::mpsc::channel;
    let (at_exit, said) = channel();
    on_fresh_thread(move || {
        struct AtExit(std::sync::mpsc::Sender<usize>);
        impl Drop for AtExit {
            fn drop(&mut self) {
                self.0.send(Shelf::places()).unwrap();
            }
        }
        thread_local! {
            static LATE: std::cell::RefCell<Option<AtExit>> = const { std::cell::RefCell::new(None) };
        }
        // Registered before the pools' closer, and so dropped after it; the count before both.
        assert_eq!(Shelf::places(), 0);
        LATE.with(|late| *late.borrow_mut() = Some(AtExit(at_exit)));
        with_pool!(Shelf, Shelf, |outer, inner| {
            outer.acquire_filled(10, inner.acquire_filled(10, 1_u8)[0]);
        });
        assert_eq!(Shelf::places(), 2);
    });
    assert_eq!(said.recv().unwrap(), 0);
}
