//! Random walks over the guards of a thread, against a list of idle pools. After any operations in
//! between, a guard has the pool that was put back last, or a new one, and never one that another
//! guard has.

use std::cell::RefCell;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use pool_facade::prelude::*;
use pool_facade::{Compaction, LocalGuard, ReleaseReport};

use crate::support::{blocks_in_order, first_block, forget, on_fresh_thread};

thread_local! {
    /// Guards for the end of the thread.
    static LEFT: RefCell<Vec<LocalGuard<Cpu>>> = const { RefCell::new(Vec::new()) };
}

/// A thread that takes and returns pools; the block of its first slot identifies each.
struct Walk {
    /// The idle pools, the next to be taken last.
    idle: Vec<usize>,
    held: Vec<(usize, LocalGuard<Cpu>)>,
    forgotten: Vec<usize>,
}

impl Walk {
    fn take(&mut self) {
        let mut guard = local::<Cpu>();
        let block = first_block(&mut guard);
        match self.idle.pop() {
            Some(expected) => assert_eq!(block, expected),
            None => assert!(!self.forgotten.contains(&block), "a pool that was forgotten"),
        }
        assert!(self.held.iter().all(|(other, _)| *other != block), "a pool in two hands");
        guard.scope().acquire_filled(16, block);
        self.held.push((block, guard));
    }

    fn put(&mut self, nth: usize) {
        let (block, guard) = self.held.swap_remove(nth);
        drop(guard);
        self.idle.push(block);
    }

    /// Frees the blocks of the idle pools, and notes the ones that they get next.
    fn empty(&mut self, empty: fn(&mut LocalGuard<Cpu>) -> ReleaseReport) {
        let (_, mut guard) = self.held.pop().expect("a guard is held");
        empty(&mut guard);
        let block = first_block(&mut guard);
        guard.scope().acquire_filled(16, block);
        let idle = guard.stats().pools - 1;
        assert_eq!(idle, self.idle.len());
        let mut guards: Vec<_> = (0..idle).map(|_| local::<Cpu>()).collect();
        self.idle = guards.iter_mut().map(first_block).rev().collect();
        while guards.pop().is_some() {}
        self.held.push((block, guard));
    }

    fn step(&mut self, random: &mut fastrand::Rng) {
        let held = self.held.len();
        if held == 0 {
            return self.take();
        }
        let nth = random.usize(..held);
        let (_, guard) = &mut self.held[nth];
        match random.u32(..24) {
            0..8 if held < 6 => self.take(),
            0..16 => self.put(nth),
            16 => assert_eq!(guard.stats().pools, self.idle.len() + 1),
            17 => guard.configure(PoolConfig::new().ways(random.usize(1..=16))).unwrap(),
            18 => assert!(guard.configure(PoolConfig::new().ways(0)).is_err()),
            19 => self.empty(LocalGuard::clear),
            20 => self.empty(LocalGuard::trim),
            21 => {
                guard.compact(&Compaction::default());
            }
            22 if self.idle.len() > 1 => {
                let panicked = catch_unwind(AssertUnwindSafe(|| {
                    with_pool!(Cpu, Cpu, |first, second| {
                        let _third = local::<Cpu>();
                        first.acquire_filled(16, first_value(second.acquire_filled(16, 0)));
                        resume_unwind(Box::new("on purpose"));
                    });
                }));
                assert!(panicked.is_err());
                // The next guard that takes them writes them again.
                if self.idle.len() == 2 {
                    // The third was new, and came back first.
                    self.idle = blocks_in_order().into_iter().rev().collect();
                }
            }
            23 if self.forgotten.len() < 3 => {
                let (block, guard) = self.held.swap_remove(nth);
                self.forgotten.push(block);
                forget(guard);
            }
            _ => {
                let other = random.usize(..held);
                self.held.swap(nth, other);
            }
        }
        for (block, guard) in &mut self.held {
            assert_eq!(
                guard.scope().acquire::<usize, _>(16),
                [*block; 16],
                "written by no one else"
            );
        }
    }
}

fn first_value(view: &[usize]) -> usize {
    view[0]
}

// Each order is of a thread of its own.
#[test]
#[cfg(not(target_arch = "wasm32"))]
fn guards_in_random_orders_have_the_pools_that_the_model_says() {
    let (walks, steps) = if cfg!(miri) { (2, 30) } else { (200, 300) };
    for seed in 0..walks {
        on_fresh_thread(|| {
            let mut random = fastrand::Rng::with_seed(seed);
            // Before the list's own destructor is registered, or after.
            if random.bool() {
                LEFT.with(|left| drop(left.borrow_mut()));
            }
            let mut walk = Walk { idle: Vec::new(), held: Vec::new(), forgotten: Vec::new() };
            for _ in 0..steps {
                walk.step(&mut random);
            }
            let mut order = blocks_in_order();
            order.reverse();
            assert!(walk.idle.is_empty() || order == walk.idle, "seed {seed}");
            LEFT.set(walk.held.into_iter().map(|(_, guard)| guard).collect());
        });
    }
}
