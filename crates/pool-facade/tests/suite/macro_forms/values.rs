//! The value of the block, as a statement, an expression and a tail, with and without temporaries
//! that use the views.

use std::cell::RefCell;

use pool_facade::prelude::*;

use super::{Refused, returns_its_pool};

#[test]
fn with_pool_deny_warnings_2021_and_2024() {
    let value = returns_its_pool(|| {
        with_pool!(|scope| {
            let view = scope.acquire_filled(3, 2_u32);
            view[0] + view[2]
        })
    });
    assert_eq!(value, 4);
}

#[test]
fn blocks_without_value() {
    returns_its_pool(|| {
        let mut seen = 0;
        with_pool!(|scope| {
            seen += scope.acquire_zeroed::<u8, _>(3).len();
        });
        with_pool!(|scope| { seen += scope.active_slots() });
        with_pool!(|_scope| {});
        with_pool!(|scope| {});
        with_pool! { |scope| { scope.acquire_zeroed::<u8, _>(2)[1] += 1; } }
        try_with_pool!(|scope| {
            seen += scope.acquire_zeroed::<u8, _>(4).len();
        })
        .unwrap();
        try_with_pool!(|scope| {}).unwrap();
        assert_eq!(seen, 7);
    });
}

/// A value with a destructor that uses a view: in edition 2021 such a temporary of a tail
/// expression is dropped after the locals of its block.
struct Looks<'a>(&'a [u64]);

impl Looks<'_> {
    fn sum(&self) -> u64 {
        self.0.iter().sum()
    }
}

impl Drop for Looks<'_> {
    fn drop(&mut self) {
        assert!(self.0.iter().all(|&value| value == 4), "the view is still there");
    }
}

#[test]
fn temporaries_in_the_tail() {
    let sums = returns_its_pool(|| {
        let cell = RefCell::new(vec![1_u64, 2]);
        let of_view = with_pool!(|scope| { scope.acquire_filled(2, 4_u64).iter().sum::<u64>() });
        let of_scope = with_pool!(|scope| { Looks(scope.acquire_filled(2, 4)).sum() });
        let of_inner = with_pool!(|scope| { Looks(scope.scope().acquire_filled(2, 4)).sum() });
        let of_cell =
            with_pool!(|scope| { cell.borrow().len() as u64 + scope.active_slots() as u64 });
        let of_text = with_pool!(|_scope| { String::from("four").as_str().len() as u64 });
        let tried = try_with_pool!(|scope| { Looks(scope.acquire_filled(2, 4)).sum() }).unwrap();
        let tried_cell = try_with_pool!(|_scope| { cell.borrow_mut().pop().unwrap_or(0) }).unwrap();
        [of_view, of_scope, of_inner, of_cell, of_text, tried, tried_cell]
    });
    assert_eq!(sums, [8, 8, 8, 2, 4, 8, 2]);
}

/// The macro as the tail of a function, where edition 2021 drops temporaries after the function's
/// locals.
#[test]
fn the_macro_as_tail_expression() {
    fn sum(values: &[u64]) -> u64 {
        let factor = String::from("ab");
        with_pool!(|scope| {
            Looks(scope.acquire_filled(values.len(), 4)).sum() * factor.len() as u64
        })
    }
    fn tried(values: &[u64]) -> Result<u64, Refused> {
        let factor = String::from("ab");
        try_with_pool!(|scope| {
            Looks(scope.acquire_filled(values.len(), 4)).sum() * factor.len() as u64
        })
    }
    returns_its_pool(|| {
        assert_eq!((sum(&[0; 3]), tried(&[0; 3])), (24, Ok(24)));
    });
}

#[test]
fn the_macro_as_an_expression() {
    let value = returns_its_pool(|| {
        let one = || with_pool!(|scope| { scope.acquire_filled(1, 1_u64)[0] });
        let mut value = one() + with_pool!(|_scope| { 2 });
        if with_pool!(|scope| { scope.active_slots() == 0 }) {
            value += 10;
        }
        value += match with_pool!(|scope| { scope.acquire_zeroed::<u8, _>(3).len() }) {
            3 => 100,
            _ => 0,
        };
        let boxed: Box<dyn Fn(u64) -> u64> = with_pool!(|_scope| { Box::new(|x: u64| x + 1000) });
        let list: Vec<u64> = with_pool!(|scope| { scope.acquire_filled(3, 5).to_vec() });
        boxed(value) + list.into_iter().sum::<u64>()
    });
    assert_eq!(value, 3 + 10 + 100 + 1000 + 15);
}

#[test]
fn the_body_uses_its_surroundings_as_any_block() {
    let moved = String::from("moved");
    let mut changed = 0;
    let kept = with_pool!(|scope| {
        changed += scope.acquire_zeroed::<u8, _>(moved.len()).len();
        let taken = moved;
        taken + " out"
    });
    with_pool!(|outer| {
        let values = outer.acquire_filled(3, 1_u64);
        let total = with_pool!(|inner| {
            values[0] = inner.acquire_filled(1, 40_u64)[0];
            values.iter().sum::<u64>()
        });
        changed += usize::try_from(total).unwrap();
        let mut nested = outer.scope();
        nested.scope().acquire_zeroed::<u8, _>(1);
    });
    assert_eq!((kept.as_str(), changed), ("moved out", 47));
}
