//! The ways to leave the block: `return`, `?`, `break`, `continue`, labels and panics, also as the
//! block's end.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use pool_facade::prelude::*;

use super::{Refused, idle_pools, returns_its_pool};

#[test]
fn return_from_anywhere() {
    fn tail(early: bool) -> usize {
        with_pool!(|scope| {
            let view = scope.acquire_filled(5, 1_usize);
            if early {
                return view.len();
            }
            view.iter().sum::<usize>() * 2
        })
    }
    fn diverges() -> usize {
        with_pool!(|scope| {
            return scope.acquire_filled(1, 7_usize)[0];
        })
    }
    fn diverges_as_tail() -> usize {
        with_pool!(|scope| { return scope.acquire_filled(1, 8_usize)[0] })
    }
    fn diverges_before_more(go_on: bool) -> usize {
        if !go_on {
            with_pool!(|scope| {
                return scope.acquire_filled(1, 9_usize)[0];
            });
        }
        10
    }
    fn tries() -> Result<usize, Refused> {
        try_with_pool!(|scope| {
            return Ok(scope.acquire_filled(1, 11_usize)[0]);
        })
    }
    fn tries_without_value() {
        let _: Result<(), Refused> = try_with_pool!(|_scope| {
            return;
        });
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
        let number = with_pool!(|scope| {
            let digits = scope.acquire_from(text.as_bytes());
            let number: u64 = std::str::from_utf8(digits).unwrap_or("").parse()?;
            number + scope.active_slots() as u64
        });
        Ok(number * 10)
    }
    fn first(values: &[u8]) -> Option<u8> {
        with_pool!(|scope| { Some(*scope.acquire_from(values).first()?) })
    }
    fn acquires(length: usize) -> Result<usize, Refused> {
        with_pool!(|scope| {
            let view = scope.try_acquire::<u64, _>(length)?;
            Ok(view.len())
        })
    }
    fn opens_and_acquires(length: usize) -> Result<usize, Refused> {
        let length = try_with_pool!(|scope| { scope.try_acquire::<u64, _>(length)?.len() })?;
        Ok(length + 1)
    }
    fn body_ends_in_question_mark(length: usize) -> Result<(), Refused> {
        with_pool!(|scope| {
            scope.try_acquire::<u64, _>(length)?;
        });
        try_with_pool!(|scope| {
            scope.try_acquire::<u64, _>(length)?;
        })
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
            with_pool!(|scope| {
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
            try_with_pool!(|scope| {
                if i == 1 {
                    continue;
                }
                sum += 100 * scope.acquire_filled(1, 1)[0];
            })
            .unwrap();
        }
        for i in 0.. {
            if i == 4 {
                with_pool!(|_scope| {
                    break;
                });
            }
            sum += 1000;
            with_pool!(|scope| {
                sum += scope.active_slots();
                continue;
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
            with_pool!(|scope| {
                let view = scope.acquire_filled(length, 3_usize);
                if view.len() > 100 {
                    break view.len() + view[0];
                }
            });
            length *= 2;
        };
        let ends_in_break = loop {
            with_pool!(|scope| { break scope.acquire_filled(2, 5_usize)[1] });
        };
        let labelled =
            'block: { with_pool!(|scope| { break 'block scope.acquire_filled(2, 6_usize)[1] }) };
        let tried = loop {
            let _: Result<(), Refused> = try_with_pool!(|scope| {
                break scope.acquire_filled(2, 7_usize)[1];
            });
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
            with_pool!(|outer| {
                let kept = outer.acquire_filled(4, row);
                'columns: for column in 0..5_u32 {
                    with_pool!(|inner| {
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
                with_pool!(|scope| {
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
                    try_with_pool!(|_scope| { resume_unwind(Box::new(7_u8)) });
            });
            assert_eq!(caught.unwrap_err().downcast_ref(), Some(&7_u8));
        }
        let caught = catch_unwind(|| {
            with_pool!(|scope| {
                scope.acquire::<u64, _>(usize::MAX);
            });
        });
        let text = caught.unwrap_err().downcast::<String>().unwrap();
        assert!(text.contains("18446744073709551615 elements") || text.contains("4294967295"));
    });
}
