//! The hot path, in a separate function so that its machine code can be read:
//! `cargo xtask assembly` prints it and counts its instructions.
//!
//! The compiler does not know the lengths, and the views' addresses leave the function, so it
//! cannot leave anything out.

use std::hint::black_box;

use pool_facade::prelude::*;

/// Makes three acquires. The scope is passed by value, in a register.
#[inline(never)]
#[expect(clippy::needless_pass_by_value, reason = "a scope passed by value is a register")]
pub fn three_acquires(scope: Scope<'_, Cpu>, n: usize, m: usize, l: usize) -> usize {
    let first = scope.acquire::<f64, _>(n).as_ptr();
    let second = scope.acquire::<f64, _>(m).as_ptr();
    let third = scope.acquire::<f64, _>(l).as_ptr();
    first.addr() ^ second.addr() ^ third.addr()
}

fn main() {
    let mut pool = Pool::<Cpu>::new(());
    let [n, m, l] = black_box([100, 200, 300]);
    let first_pass = three_acquires(pool.scope(), n, m, l);
    let second_pass = three_acquires(pool.scope(), n, m, l);
    assert_eq!(first_pass, second_pass, "the second pass gets the blocks of the first");
    println!("{}", pool.stats());
}
