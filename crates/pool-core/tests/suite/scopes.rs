//! The scope as a value: one word that may be moved, swapped, forgotten and outlived by its views,
//! and whose cursor may be at the end of a table.

use std::mem;

use pool_conformance::HeapBackend;
use pool_core::{Pool, Scope};

use crate::support::{
    address, assert_stamped, further_tables, heap_pool, rounds, slots_per_table, stamp,
};

#[test]
fn scope_is_one_word() {
    assert_eq!(size_of::<Scope<'static, HeapBackend>>(), size_of::<usize>());
    assert_eq!(size_of::<Pool<HeapBackend>>(), size_of::<usize>());
    assert!(!mem::needs_drop::<Scope<'static, HeapBackend>>(), "leaving a scope runs nothing");
}

#[test]
fn parent_cursor_on_sentinel_child_in_next_table() {
    let per_table = slots_per_table();
    let (mut pool, _) = heap_pool();
    let mut outer = pool.scope();
    let mut own: Vec<&mut [u64]> = (0..per_table).map(|_| outer.acquire(5)).collect();
    own.iter_mut().zip(0..).for_each(|(view, owner)| stamp(view, owner));
    assert_eq!(outer.active_slots(), per_table, "the cursor is at the sentinel now");

    let mut childs_first = Vec::new();
    for _ in 0..3 {
        let mut child = outer.scope();
        let (first, second) = (child.acquire::<u64, _>(3), child.acquire::<u64, _>(7));
        stamp(first, 100);
        stamp(second, 101);
        let grandchild = child.scope();
        stamp(grandchild.acquire(9), 102);
        assert_eq!(grandchild.active_slots(), per_table + 3);
        assert_stamped(first, 100);
        assert_stamped(second, 101);
        childs_first.push(address(first));
    }
    assert_eq!(outer.active_slots(), per_table);
    assert_eq!(childs_first, [childs_first[0]; 3]);

    let next = outer.acquire::<u64, _>(3);
    stamp(next, 200);
    assert_eq!(address(next), childs_first[0], "the parent steps into the same table");
    assert_eq!(outer.active_slots(), per_table + 1);
    own.iter().zip(0..).for_each(|(view, owner)| assert_stamped(view, owner));
    assert_stamped(next, 200);
}

#[test]
fn parent_cursor_on_sentinel_trims_and_counts_only_what_is_above() {
    let per_table = slots_per_table();
    let (mut pool, ledger) = heap_pool();
    let mut outer = pool.scope();
    let own: Vec<&mut [u64]> = (0..per_table).map(|_| outer.acquire_filled(5, 9)).collect();
    {
        let child = outer.scope();
        child.acquire::<u64, _>(3);
        child.acquire::<u64, _>(3);
    }
    let released = outer.trim();
    assert_eq!(released.slots, 2);
    assert_eq!(ledger.live_blocks(), per_table);
    assert_eq!(outer.stats().active_slots, per_table);
    assert_eq!(outer.trim().slots, 0);
    assert!(own.iter().all(|view| view[..] == [9; 5]));
}

#[test]
fn table_growth_under_parent_cursor() {
    let per_table = slots_per_table();
    let (mut pool, _) = heap_pool();
    let mut outer = pool.scope();
    let own: Vec<&mut [u64]> = (0..5)
        .map(|owner| {
            let view = outer.acquire(4);
            stamp(view, owner);
            view
        })
        .collect();

    let first_of_child;
    {
        let mut child = outer.scope();
        let mut views: Vec<&mut [u64]> = Vec::new();
        for owner in 0..2 * per_table {
            let view = child.acquire(3);
            stamp(view, 1000 + owner as u64);
            views.push(view);
        }
        let grandchild = child.scope();
        for owner in 0..2 * per_table {
            stamp(grandchild.acquire(6), 2000 + owner as u64);
        }
        assert!(further_tables(&grandchild.stats()) >= 4);
        for (owner, view) in views.iter().enumerate() {
            assert_stamped(view, 1000 + owner as u64);
        }
        first_of_child = address(views[0]);
    }

    assert_eq!(outer.active_slots(), 5);
    assert_eq!(address(outer.acquire::<u64, _>(3)), first_of_child);
    own.iter().zip(0..).for_each(|(view, owner)| assert_stamped(view, owner));
}

#[test]
fn swap_scopes_across_pools_runs() {
    let (mut here, here_ledger) = heap_pool();
    let (mut there, there_ledger) = heap_pool();
    let (mut first, mut second) = (here.scope(), there.scope());
    let before = [first.acquire::<u64, _>(3), second.acquire::<u64, _>(4)];

    mem::swap(&mut first, &mut second);
    let after = [first.acquire::<u64, _>(5), second.acquire::<u64, _>(6)];
    assert!(there_ledger.block_of(address(after[0])).is_some(), "`first` is of `there` now");
    assert!(here_ledger.block_of(address(after[1])).is_some());
    {
        let inner = first.scope();
        stamp(inner.acquire(8), 9);
        assert_eq!(inner.active_slots(), 3);
    }

    let mut views = before.into_iter().chain(after).collect::<Vec<_>>();
    views.iter_mut().zip(0..).for_each(|(view, owner)| stamp(view, owner));
    views.iter().zip(0..).for_each(|(view, owner)| assert_stamped(view, owner));
    assert_eq!((first.active_slots(), second.active_slots()), (2, 2));
    assert_eq!((here.stats().active_slots, there.stats().active_slots), (0, 0));
}

#[test]
fn swap_inner_with_foreign_outer_runs() {
    let (mut here, here_ledger) = heap_pool();
    let (mut there, there_ledger) = heap_pool();
    let mut outer = here.scope();
    let own = outer.acquire::<u64, _>(3);
    stamp(own, 1);
    {
        let mut inner = outer.scope();
        let mut foreign = there.scope();
        let (of_inner, of_foreign) = (inner.acquire::<u64, _>(3), foreign.acquire::<u64, _>(3));
        mem::swap(&mut inner, &mut foreign);
        let (now_there, now_here) = (inner.acquire::<u64, _>(3), foreign.acquire::<u64, _>(3));
        let mut views = [of_inner, of_foreign, now_there, now_here];
        views.iter_mut().zip(10..).for_each(|(view, owner)| stamp(view, owner));
        views.iter().zip(10..).for_each(|(view, owner)| assert_stamped(view, owner));
        assert!(there_ledger.block_of(address(views[2])).is_some());
        assert!(here_ledger.block_of(address(views[3])).is_some());
        assert_eq!((inner.active_slots(), foreign.active_slots()), (2, 3));
    }
    let again = outer.acquire::<u64, _>(3);
    stamp(again, 2);
    assert_stamped(own, 1);
    assert_eq!(outer.active_slots(), 2);
}

#[test]
fn replace_scope_by_a_foreign_one_runs() {
    let (mut here, _) = heap_pool();
    let (mut there, _) = heap_pool();
    let mut scope = here.scope();
    let kept = scope.acquire::<u64, _>(3);
    stamp(kept, 1);
    let old = mem::replace(&mut scope, there.scope());
    stamp(scope.acquire(3), 2);
    stamp(old.acquire(3), 3);
    assert_stamped(kept, 1);
    assert_eq!((old.active_slots(), scope.active_slots()), (2, 1));
}

#[test]
fn view_outlives_scope_value_runs() {
    let (mut pool, _) = heap_pool();
    let view = pool.scope().acquire::<u64, _>(8);
    stamp(view, 1);
    assert_stamped(view, 1);

    let mut scope = pool.scope();
    let own = scope.acquire::<u64, _>(8);
    stamp(own, 2);
    let inner_view = {
        let inner = scope.scope();
        let view = inner.acquire::<u64, _>(8);
        drop(inner);
        view
    };
    stamp(inner_view, 3);
    assert_stamped(own, 2);
    assert_stamped(inner_view, 3);
    let sibling_address = address(inner_view);
    assert_eq!(address(scope.acquire::<u64, _>(8)), sibling_address);
    assert_stamped(own, 2);
}

/// One level of a nest in which every scope is forgotten.
fn forget_all_levels(scope: &mut Scope<'_, HeapBackend>, level: usize, addresses: &mut Vec<usize>) {
    if level == 5 {
        return;
    }
    let mut inner = scope.scope();
    let own = inner.acquire::<u64, _>(3 + level);
    stamp(own, level as u64);
    addresses.push(address(own));
    forget_all_levels(&mut inner, level + 1, addresses);
    assert_eq!(inner.active_slots(), level + 1);
    assert_stamped(own, level as u64);
    mem::forget(inner);
}

#[test]
fn forget_scope_every_level() {
    let (mut pool, ledger) = heap_pool();
    let mut first_pass = Vec::new();
    for round in 0..rounds(50, 4) {
        let mut outermost = pool.scope();
        let mut addresses = Vec::new();
        forget_all_levels(&mut outermost, 0, &mut addresses);
        assert_eq!(outermost.active_slots(), 0);
        mem::forget(outermost);
        if round == 0 {
            first_pass = addresses;
        } else {
            assert_eq!(addresses, first_pass);
        }
    }
    assert_eq!(ledger.allocations(), 5);
}

/// Compiles because a scope is covariant in its lifetime.
struct Solver<'a> {
    scope: &'a Scope<'a, HeapBackend>,
    residual: &'a mut [u64],
}

impl<'a> Solver<'a> {
    fn new(scope: &'a Scope<'a, HeapBackend>) -> Self {
        Self { scope, residual: scope.acquire_zeroed(4) }
    }

    fn step(&mut self) {
        let scratch = self.scope.acquire_from(self.residual);
        scratch.iter_mut().for_each(|element| *element += 1);
        self.residual.copy_from_slice(scratch);
    }
}

#[test]
fn struct_holding_scope_ref() {
    let (mut pool, _) = heap_pool();
    let mut scope = pool.scope();
    {
        let inner = scope.scope();
        let mut solver = Solver::new(&inner);
        solver.step();
        solver.step();
        assert_eq!(solver.residual, [2; 4]);
        assert_eq!(inner.active_slots(), 3);
    }
    let inner = scope.scope();
    assert_eq!(Solver::new(&inner).residual, [0; 4]);
    assert_eq!(inner.active_slots(), 1);
}

/// Compiles: an array that a helper acquires lives as long as the caller's scope.
fn squares<'s>(scope: &Scope<'s, HeapBackend>, count: usize) -> &'s mut [u64] {
    scope.acquire_with(count, |index| (index * index) as u64)
}

/// Compiles: a helper with temporaries of its own returns an array that it acquired before them.
fn sums<'s>(scope: &'s mut Scope<'_, HeapBackend>, count: usize) -> &'s mut [u64] {
    let mut own = scope.scope();
    let result = own.acquire_zeroed::<u64, _>(count);
    {
        let temporaries = own.scope();
        let squares = squares(&temporaries, count);
        let mut sum = 0;
        for (result, square) in result.iter_mut().zip(squares) {
            sum += *square;
            *result = sum;
        }
    }
    result
}

#[test]
fn helper_returns_view_of_caller_scope() {
    let (mut pool, _) = heap_pool();
    let mut scope = pool.scope();
    let of_helper = squares(&scope, 5);
    let of_second = squares(&scope, 3);
    of_second[0] = 77;
    assert_eq!(of_helper, [0, 1, 4, 9, 16]);
    assert_eq!(sums(&mut scope, 4), [0, 1, 5, 14]);
    assert_eq!(scope.active_slots(), 2);
    assert_eq!((&*of_helper, &*of_second), (&[0, 1, 4, 9, 16][..], &[77, 1, 4][..]));
}
