//! Values with `Drop` in a scope: the time and order of their drops, and the effect of a panic.
//! Over slots and over stacks.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use pool_conformance::Refusal;
use pool_conformance::panics::{catch_planned, panic_as_planned};
use pool_core::{PoolBox, PoolError};

use super::Heap;
use crate::support::{address, assert_initialised, is_send, is_sync, pool_of, rounds};

/// Records its number when it is dropped, and panics there on request.
#[derive(Debug)]
struct Noted<'l> {
    number: usize,
    padding: u8,
    log: &'l RefCell<Vec<usize>>,
    panics: bool,
}

impl Drop for Noted<'_> {
    fn drop(&mut self) {
        assert_eq!(self.padding, 9);
        self.log.borrow_mut().push(self.number);
        if self.panics {
            panic_as_planned();
        }
    }
}

fn noted(number: usize, log: &RefCell<Vec<usize>>) -> Noted<'_> {
    Noted { number, padding: 9, log, panics: false }
}

#[test]
fn a_box_drops_its_value_and_a_slice_its_values_from_the_last_on() {
    let log = RefCell::new(Vec::new());
    let (mut pool, _) = pool_of::<Heap>();
    for _ in 0..2 {
        log.take();
        let mut scope = pool.scope();
        let first = scope.boxed(noted(1, &log));
        let slice = scope.boxed_slice(3, |index| noted(10 + index, &log));
        {
            let inner = scope.scope();
            let _inner = inner.boxed(noted(2, &log));
            assert_eq!((first.number, slice[2].number), (1, 12));
        }
        assert_eq!(*log.borrow(), [2]);
        drop(slice);
        assert_eq!(*log.borrow(), [2, 12, 11, 10]);
        drop(first);
        assert_eq!(log.borrow().last(), Some(&1));
    }
    assert_initialised(pool.scope().acquire::<u8, _>(300));
}

#[test]
fn a_value_is_moved_out_or_leaked_without_a_drop() {
    let log = RefCell::new(Vec::new());
    let (mut pool, _) = pool_of::<Heap>();
    let scope = pool.scope();
    let mut text = scope.boxed(String::from("moved"));
    text.push_str(" out");
    assert_eq!(PoolBox::into_inner(text), "moved out");
    let leaked = PoolBox::leak(scope.boxed(noted(3, &log)));
    leaked.number = 4;
    let slice = PoolBox::leak(scope.boxed_slice(2, |index| noted(index, &log)));
    assert_eq!((leaked.number, slice.len()), (4, 2));
    std::mem::forget(scope.boxed(noted(5, &log)));
    assert!(log.borrow().is_empty());
}

#[test]
fn a_panic_while_a_slice_is_made_drops_what_was_made() {
    let log = RefCell::new(Vec::new());
    let (mut pool, _) = pool_of::<Heap>();
    let scope = pool.scope();
    let made = catch_planned(|| {
        scope.boxed_slice(
            5,
            |index| if index == 3 { panic_as_planned() } else { noted(index, &log) },
        )
    });
    assert!(made.is_none());
    assert_eq!(*log.borrow(), [2, 1, 0]);
}

#[test]
fn a_panic_in_a_drop_leaves_the_other_drops() {
    let log = RefCell::new(Vec::new());
    let (mut pool, _) = pool_of::<Heap>();
    let scope = pool.scope();
    let dropped = catch_planned(|| {
        drop(scope.boxed_slice(5, |index| {
            let mut value = noted(index, &log);
            value.panics = index == 2;
            value
        }));
    });
    assert!(dropped.is_none());
    assert_eq!(*log.borrow(), [4, 3, 2, 1, 0]);
}

#[test]
fn a_refused_value_is_dropped() {
    let log = RefCell::new(Vec::new());
    let (mut pool, ledger) = pool_of::<Heap>();
    let scope = pool.scope();
    ledger.refuse(Refusal::From(0));
    let error = scope.try_boxed(noted(1, &log)).unwrap_err();
    assert!(matches!(error, PoolError::OutOfMemory { .. }), "{error}");
    let error = scope.try_boxed_slice(2, |index| noted(index, &log)).unwrap_err();
    assert!(matches!(error, PoolError::OutOfMemory { .. }), "{error}");
    assert_eq!(*log.borrow(), [1], "no element was made");
}

#[test]
fn boxes_hold_any_type() {
    #[repr(align(32))]
    struct Aligned(usize);
    let (mut pool, ledger) = pool_of::<Heap>();
    let scope = pool.scope();
    let aligned = scope.boxed_slice(2, Aligned);
    assert_eq!((address(&aligned) % 32, aligned[1].0), (0, 1));
    let allocations = ledger.allocations();
    let drops = Rc::new(Cell::new(0));
    struct Unit;
    let units = scope.boxed_slice(4, |_| Unit);
    assert_eq!((units.len(), ledger.allocations()), (4, allocations));
    let functions = scope.boxed_slice(3, |index| {
        let drops = drops.clone();
        move || drops.set(drops.get() + index)
    });
    functions.iter().for_each(|function| function());
    assert_eq!((drops.get(), Rc::strong_count(&drops)), (3, 4));
    drop(functions);
    assert_eq!(Rc::strong_count(&drops), 1);
    assert_eq!(format!("{:?} {}", scope.boxed(Some(1)), scope.boxed("text")), "Some(1) text");
    assert!(is_send!(PoolBox<'static, String>) && is_sync!(PoolBox<'static, [String]>));
    assert!(!is_send!(PoolBox<'static, Rc<u8>>) && !is_sync!(PoolBox<'static, Cell<u8>>));
}

/// A box holds boxes, as a list of a scope does, and each drops the next.
#[test]
fn boxes_of_boxes_are_dropped_from_the_outside_in() {
    struct Node<'s> {
        value: String,
        next: Option<PoolBox<'s, Node<'s>>>,
    }
    let (mut pool, ledger) = pool_of::<Heap>();
    let mut allocations = Vec::new();
    for _ in 0..3 {
        let scope = pool.scope();
        let mut list = None;
        for number in 0..rounds(50, 8) {
            list = Some(scope.boxed(Node { value: number.to_string(), next: list }));
        }
        let mut seen = Vec::new();
        let mut next = list.as_deref();
        while let Some(node) = next {
            seen.push(node.value.clone());
            next = node.next.as_deref();
        }
        assert!(seen.iter().rev().enumerate().all(|(index, text)| *text == index.to_string()));
        allocations.push(ledger.allocations());
    }
    assert_eq!(allocations[1], allocations[2]);
}
