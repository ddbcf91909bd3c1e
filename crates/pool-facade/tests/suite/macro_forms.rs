//! Every form of `with_pool!` and `try_with_pool!`, and every way to leave their block, where a
//! warning is an error. This file is compiled twice, as edition 2024 here and as edition 2021 in
//! `pool-edition-2021`: the two differ in when the temporaries of a tail expression are dropped and
//! in what a block that never ends evaluates to.
//!
//! Whichever way a block is left, its pool is back in the list afterwards.

#![deny(warnings)]

use std::cell::RefCell;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use pool_facade::prelude::*;
use pool_facade::{CpuError, LocalPool};

type Refused = PoolError<CpuError>;

/// How many pools this thread has, all of them idle.
fn idle_pools() -> usize {
    local::<Cpu>().stats().pools
}

/// Where the first slot of the pool that comes next has its block.
fn next_block() -> usize {
    with_pool!(scope => { scope.acquire::<u64>(500).as_ptr() as usize })
}

/// Runs the body on a thread of its own and holds that it leaves one pool behind, the one that it
/// found.
fn returns_its_pool<R: Send>(body: impl FnOnce() -> R + Send) -> R {
    std::thread::scope(|threads| {
        let checked = || {
            let block = next_block();
            let value = body();
            assert_eq!((idle_pools(), next_block()), (1, block), "the pool is back in its list");
            value
        };
        threads.spawn(checked).join().unwrap_or_else(|panic| resume_unwind(panic))
    })
}

#[test]
fn with_pool_deny_warnings_2021_and_2024() {
    let value = returns_its_pool(|| {
        with_pool!(scope => {
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
        with_pool!(scope => { seen += scope.acquire_zeroed::<u8>(3).len(); });
        with_pool!(scope => { seen += scope.active_slots() });
        with_pool!(_scope => {});
        with_pool!(scope => {});
        with_pool! { scope => { scope.acquire_zeroed::<u8>(2)[1] += 1; } }
        try_with_pool!(scope => { seen += scope.acquire_zeroed::<u8>(4).len(); }).unwrap();
        try_with_pool!(scope => {}).unwrap();
        assert_eq!(seen, 7);
    });
}

#[test]
fn return_from_anywhere() {
    fn tail(early: bool) -> usize {
        with_pool!(scope => {
            let view = scope.acquire_filled(5, 1_usize);
            if early {
                return view.len();
            }
            view.iter().sum::<usize>() * 2
        })
    }
    fn diverges() -> usize {
        with_pool!(scope => { return scope.acquire_filled(1, 7_usize)[0]; })
    }
    fn diverges_as_tail() -> usize {
        with_pool!(scope => { return scope.acquire_filled(1, 8_usize)[0] })
    }
    fn diverges_before_more(go_on: bool) -> usize {
        if !go_on {
            with_pool!(scope => { return scope.acquire_filled(1, 9_usize)[0]; });
        }
        10
    }
    fn tries() -> Result<usize, Refused> {
        try_with_pool!(scope => { return Ok(scope.acquire_filled(1, 11_usize)[0]); })
    }
    fn tries_without_value() {
        let _: Result<(), Refused> = try_with_pool!(_scope => { return; });
    }
    let values = returns_its_pool(|| {
        tries_without_value();
        let tried = tries().unwrap();
        let (left, went_on) = (diverges_before_more(false), diverges_before_more(true));
        [tail(true), tail(false), diverges(), diverges_as_tail(), left, went_on, tried]
    });
    assert_eq!(values, [5, 10, 7, 8, 9, 10, 11]);
}

#[test]
fn question_mark_leaves_the_function() {
    fn parse(text: &str) -> Result<u64, std::num::ParseIntError> {
        let number = with_pool!(scope => {
            let digits = scope.acquire_from(text.as_bytes());
            let number: u64 = std::str::from_utf8(digits).unwrap_or("").parse()?;
            number + scope.active_slots() as u64
        });
        Ok(number * 10)
    }
    fn first(values: &[u8]) -> Option<u8> {
        with_pool!(scope => { Some(*scope.acquire_from(values).first()?) })
    }
    fn acquires(length: usize) -> Result<usize, Refused> {
        with_pool!(scope => {
            let view = scope.try_acquire::<u64>(length)?;
            Ok(view.len())
        })
    }
    fn opens_and_acquires(length: usize) -> Result<usize, Refused> {
        let length = try_with_pool!(scope => { scope.try_acquire::<u64>(length)?.len() })?;
        Ok(length + 1)
    }
    fn body_ends_in_question_mark(length: usize) -> Result<(), Refused> {
        with_pool!(scope => { scope.try_acquire::<u64>(length)?; });
        try_with_pool!(scope => { scope.try_acquire::<u64>(length)?; })
    }
    returns_its_pool(|| {
        assert_eq!(parse("41"), Ok(420));
        assert!(parse("4x").is_err());
        assert_eq!((first(&[3]), first(&[])), (Some(3), None));
        assert_eq!((acquires(3), opens_and_acquires(3)), (Ok(3), Ok(4)));
        let refused = PoolError::SizeOverflow { elements: usize::MAX, element_size: 8 };
        assert_eq!(acquires(usize::MAX), Err(refused.clone()));
        assert_eq!(opens_and_acquires(usize::MAX), Err(refused.clone()));
        assert_eq!(body_ends_in_question_mark(2), Ok(()));
        assert_eq!(body_ends_in_question_mark(usize::MAX), Err(refused));
    });
}

#[test]
fn break_and_continue_reach_the_loop_outside() {
    let sum = returns_its_pool(|| {
        let mut sum = 0;
        for i in 0..10_usize {
            with_pool!(scope => {
                if i == 2 {
                    continue;
                }
                sum += scope.acquire_filled(i, 1_usize).iter().sum::<usize>();
                if i == 5 {
                    break;
                }
            });
        }
        for i in 0..3 {
            try_with_pool!(scope => {
                if i == 1 {
                    continue;
                }
                sum += 100 * scope.acquire_filled(1, 1)[0];
            })
            .unwrap();
        }
        for i in 0.. {
            if i == 4 {
                with_pool!(_scope => { break; });
            }
            sum += 1000;
            with_pool!(scope => {
                sum += scope.active_slots();
                continue
            });
        }
        sum
    });
    assert_eq!(sum, 1 + 3 + 4 + 5 + 200 + 4000);
}

#[test]
#[expect(clippy::never_loop, reason = "the block's only way is the one under test")]
fn break_with_a_value() {
    let found = returns_its_pool(|| {
        let mut length = 1;
        let large = loop {
            with_pool!(scope => {
                let view = scope.acquire_filled(length, 3_usize);
                if view.len() > 100 {
                    break view.len() + view[0];
                }
            });
            length *= 2;
        };
        let ends_in_break = loop {
            with_pool!(scope => { break scope.acquire_filled(2, 5_usize)[1] });
        };
        let labelled =
            'block: { with_pool!(scope => { break 'block scope.acquire_filled(2, 6_usize)[1] }) };
        let tried = loop {
            let _: Result<(), Refused> =
                try_with_pool!(scope => { break scope.acquire_filled(2, 7_usize)[1]; });
        };
        [large, ends_in_break, labelled, tried]
    });
    assert_eq!(found, [131, 5, 6, 7]);
}

#[test]
fn labelled_break_leaves_two_levels() {
    let (visited, pools) = std::thread::spawn(|| {
        let mut visited = Vec::new();
        'rows: for row in 0..5_u32 {
            with_pool!(outer => {
                let kept = outer.acquire_filled(4, row);
                'columns: for column in 0..5_u32 {
                    with_pool!(inner => {
                        let pair = inner.acquire_from(&[row, column]);
                        assert_eq!(kept, [row; 4]);
                        match (row, column) {
                            (_, 1) => continue 'columns,
                            (1, 2) => continue 'rows,
                            (2, 3) => break 'columns,
                            (3, 3) => break 'rows,
                            _ => visited.push((pair[0], pair[1])),
                        }
                    });
                }
            });
        }
        (visited, idle_pools())
    })
    .join()
    .unwrap();
    let expected = [(0, 0), (0, 2), (0, 3), (0, 4), (1, 0), (2, 0), (2, 2), (3, 0), (3, 2)];
    assert_eq!(visited, expected);
    assert_eq!(pools, 2, "one pool for each level, however it was left");
}

#[test]
fn panics_are_panics() {
    returns_its_pool(|| {
        for _ in 0..3 {
            let caught = catch_unwind(AssertUnwindSafe(|| -> usize {
                with_pool!(scope => {
                    scope.acquire_filled(8, 1_u64);
                    if scope.active_slots() == 1 {
                        resume_unwind(Box::new("on purpose"));
                    }
                    scope.active_slots()
                })
            }));
            assert_eq!(caught.unwrap_err().downcast_ref(), Some(&"on purpose"));
            let caught = catch_unwind(|| {
                let _: Result<(), Refused> =
                    try_with_pool!(_scope => { resume_unwind(Box::new(7_u8)) });
            });
            assert_eq!(caught.unwrap_err().downcast_ref(), Some(&7_u8));
        }
        let caught = catch_unwind(|| {
            with_pool!(scope => { scope.acquire::<u64>(usize::MAX); });
        });
        let text = caught.unwrap_err().downcast::<String>().unwrap();
        assert!(text.contains("18446744073709551615 elements") || text.contains("4294967295"));
    });
}

/// A value with a destructor that looks at a view: in edition 2021 such a temporary of a tail
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
        let of_view = with_pool!(scope => { scope.acquire_filled(2, 4_u64).iter().sum::<u64>() });
        let of_scope = with_pool!(scope => { Looks(scope.acquire_filled(2, 4)).sum() });
        let of_inner = with_pool!(scope => { Looks(scope.scope().acquire_filled(2, 4)).sum() });
        let of_cell =
            with_pool!(scope => { cell.borrow().len() as u64 + scope.active_slots() as u64 });
        let of_text = with_pool!(_scope => { String::from("four").as_str().len() as u64 });
        let tried = try_with_pool!(scope => { Looks(scope.acquire_filled(2, 4)).sum() }).unwrap();
        let tried_cell =
            try_with_pool!(_scope => { cell.borrow_mut().pop().unwrap_or(0) }).unwrap();
        [of_view, of_scope, of_inner, of_cell, of_text, tried, tried_cell]
    });
    assert_eq!(sums, [8, 8, 8, 2, 4, 8, 2]);
}

/// As the tail of a function, where edition 2021 drops temporaries after the function's locals.
#[test]
fn the_macro_as_tail_expression() {
    fn sum(values: &[u64]) -> u64 {
        let factor = String::from("ab");
        with_pool!(scope => { Looks(scope.acquire_filled(values.len(), 4)).sum() * factor.len() as u64 })
    }
    fn tried(values: &[u64]) -> Result<u64, Refused> {
        let factor = String::from("ab");
        try_with_pool!(scope => { Looks(scope.acquire_filled(values.len(), 4)).sum() * factor.len() as u64 })
    }
    returns_its_pool(|| {
        assert_eq!((sum(&[0; 3]), tried(&[0; 3])), (24, Ok(24)));
    });
}

#[test]
fn the_macro_as_an_expression() {
    let value = returns_its_pool(|| {
        let one = || with_pool!(scope => { scope.acquire_filled(1, 1_u64)[0] });
        let mut value = one() + with_pool!(_scope => { 2 });
        if with_pool!(scope => { scope.active_slots() == 0 }) {
            value += 10;
        }
        value += match with_pool!(scope => { scope.acquire_zeroed::<u8>(3).len() }) {
            3 => 100,
            _ => 0,
        };
        let boxed: Box<dyn Fn(u64) -> u64> = with_pool!(_scope => { Box::new(|x: u64| x + 1000) });
        let list: Vec<u64> = with_pool!(scope => { scope.acquire_filled(3, 5).to_vec() });
        boxed(value) + list.into_iter().sum::<u64>()
    });
    assert_eq!(value, 3 + 10 + 100 + 1000 + 15);
}

/// A backend named by a path.
mod backends {
    pub(super) use pool_facade::Cpu as Host;
}

/// A backend named through another type.
trait HasBackend {
    type Backend: LocalPool;
}

struct Solver;

impl HasBackend for Solver {
    type Backend = Cpu;
}

#[test]
fn the_backend_in_every_form() {
    fn generic<B: LocalPool>(n: usize) -> usize {
        with_pool!(B, scope => {
            let view = scope.acquire_zeroed::<f32>(n);
            pool_facade::PoolView::len(&view) + scope.active_slots()
        })
    }
    fn associated<S: HasBackend>() -> usize {
        with_pool!(S::Backend: scope => {
            scope.acquire_zeroed::<u8>(1);
            scope.active_slots()
        })
    }
    fn generic_result<B: LocalPool>() -> Result<usize, PoolError<B::Error>> {
        try_with_pool!(B: scope => { scope.try_acquire_zeroed::<u8>(2)?; scope.active_slots() })
    }
    let values = returns_its_pool(|| {
        [
            with_pool!(Cpu, scope => { scope.acquire_zeroed::<u8>(1).len() }),
            with_pool!(Cpu: scope => { scope.acquire_zeroed::<u8>(2).len() }),
            with_pool!(backends::Host, scope => { scope.acquire_zeroed::<u8>(3).len() }),
            with_pool!(<Solver as HasBackend>::Backend: scope => { scope.acquire_zeroed::<u8>(4).len() }),
            with_pool!(Cpu: scope, => { scope.acquire_zeroed::<u8>(5).len() }),
            generic::<Cpu>(6),
            associated::<Solver>(),
            generic_result::<Cpu>().unwrap(),
            try_with_pool!(Cpu, scope => { scope.acquire_zeroed::<u8>(9).len() }).unwrap(),
        ]
    });
    assert_eq!(values, [1, 2, 3, 4, 5, 7, 1, 1, 9]);
}

#[test]
fn several_pools_in_one_macro() {
    let (sum, tried, pools) = std::thread::spawn(|| {
        let sum = with_pool!(Cpu: left, Cpu: mut_free, Cpu: right => {
            let (a, b) = (left.acquire_filled(2, 1_u64), right.acquire_filled(2, 2_u64));
            a.iter().chain(b.iter()).sum::<u64>() + mut_free.active_slots() as u64
        });
        let tried = try_with_pool!(Cpu: left, Cpu: right, => {
            right.try_acquire_from(left.try_acquire_filled(3, 5_u64).unwrap()).unwrap().len()
        });
        with_pool!(Cpu: _left, Cpu: _right => {});
        (sum, tried, idle_pools())
    })
    .join()
    .unwrap();
    assert_eq!((sum, tried, pools), (6, Ok(3), 3));
}

#[test]
fn names_inside_the_macro_are_its_own() {
    returns_its_pool(|| {
        let (guard, result, value, error) = (1, 2, 3, 4);
        let sum = with_pool!(scope => {
            let result = result + scope.active_slots();
            guard + result + value + error
        });
        let tried = try_with_pool!(result => { guard + value + error + result.active_slots() });
        let shadowed = with_pool!(guard => { guard.acquire_filled(2, 9_usize)[1] });
        assert_eq!((sum, tried, shadowed), (10, Ok(8), 9));
        assert_eq!((guard, result), (1, 2));
    });
}

/// A module in which the names that a macro could mean by mistake are others.
mod shadowing {
    #[derive(Debug, PartialEq)]
    pub(super) enum Result {
        Ok(usize),
        Err,
    }
    pub(super) use self::Result::{Err, Ok};

    mod core {}

    pub(super) fn local() -> Result {
        let tried = pool_facade::try_with_pool!(pool_facade::Cpu: scope => {
            scope.acquire_zeroed::<u8>(3).len()
        });
        let length =
            pool_facade::with_pool!(scope => { tried.map_or(0, |n| n + scope.active_slots()) });
        if length == 3 { Ok(length) } else { Err }
    }
}

#[test]
fn names_outside_the_macro_are_not_the_macros() {
    returns_its_pool(|| {
        assert_eq!(shadowing::local(), shadowing::Ok(3));
        assert_ne!(shadowing::local(), shadowing::Err);
    });
}

#[test]
fn the_body_uses_its_surroundings_as_any_block() {
    let moved = String::from("moved");
    let mut changed = 0;
    let kept = with_pool!(scope => {
        changed += scope.acquire_zeroed::<u8>(moved.len()).len();
        let taken = moved;
        taken + " out"
    });
    with_pool!(outer => {
        let values = outer.acquire_filled(3, 1_u64);
        let total = with_pool!(inner => {
            values[0] = inner.acquire_filled(1, 40_u64)[0];
            values.iter().sum::<u64>()
        });
        changed += usize::try_from(total).unwrap();
        let mut nested = outer.scope();
        nested.scope().acquire_zeroed::<u8>(1);
    });
    assert_eq!((kept.as_str(), changed), ("moved out", 47));
}
