//! Scratch memory of a scope with dyn-stack's `MemStack`, from which numerical libraries take their
//! temporaries: arrays of several types and alignments, whose slots are then recycled as plain
//! data.

use dyn_stack::{MemStack, StackReq};
use pool_core::{Pool, PoolConfig, PoolError, Scope};
use pool_cpu::Cpu;

/// The stack that a routine needs, from the scope: what every caller of such a routine writes.
fn stack_of<'s>(scope: &Scope<'s, Cpu>, needed: StackReq) -> &'s mut MemStack {
    MemStack::new(scope.scratch(needed.size_bytes(), needed.align_bytes()))
}

/// Returns the memory that [`smooth_and_rank`] takes from its stack for `count` values.
fn smooth_and_rank_scratch(count: usize) -> StackReq {
    let pairs = StackReq::new::<(u8, f64)>(count);
    StackReq::new_aligned::<f64>(count, 64).and(pairs.or(StackReq::new::<u16>(3 * count)))
}

/// A typical library routine, whose caller passes the memory. It replaces values by the means of
/// neighbours, and returns the rank of the first.
fn smooth_and_rank(values: &mut [f64], stack: &mut MemStack) -> usize {
    let count = values.len();
    let mean = |i: usize| (values[i] + values[(i + 1) % count]) / 2.0;
    let (means, stack) = stack.make_aligned_with(count, 64, mean);
    assert_eq!(means.as_ptr().addr() % 64, 0);
    values.copy_from_slice(&means);
    {
        let (counts, _) = stack.make_uninit::<u16>(3 * count);
        assert_eq!(
            counts.iter_mut().map(|count| usize::from(*count.write(1))).sum::<usize>(),
            3 * count
        );
    }
    // Not by `collect`, which Miri refuses under Tree Borrows, for any memory of the stack
    // (dyn-stack 0.13.2).
    let (mut pairs, _) = stack.make_with(count, |i| (1_u8, values[i]));
    pairs.sort_by(|left, right| left.1.total_cmp(&right.1));
    pairs.iter().filter(|pair| pair.1 < values[0]).count()
}

#[test]
fn a_routine_with_its_stack_from_a_scope() {
    let mut pool = Pool::<Cpu>::new(());
    for pass in 0..3 {
        let mut scope = pool.scope();
        let values = scope.acquire_with(4, |i| [8.0, 2.0, 6.0, 4.0][i]);
        let rank = {
            let inner = scope.scope();
            smooth_and_rank(values, stack_of(&inner, smooth_and_rank_scratch(4)))
        };
        assert_eq!((&*values, rank), (&[5.0, 4.0, 5.0, 6.0][..], 1));
        // The stack's slot: no later use reads the bytes that the routine left in the padding of its pairs.
        let recycled = scope.acquire::<u64, _>(8);
        assert!(recycled.iter().all(|&word| word == 0), "pass {pass}");
    }
    assert_eq!(pool.stats().growths, 2);
}

/// Stacks at every alignment. Under Miri only those that a block has: beyond them Miri reports no
/// address as aligned, and dyn-stack checks.
#[test]
fn a_stack_of_any_alignment() {
    let most = if cfg!(miri) { 64 } else { 8192 };
    let mut pool = Pool::<Cpu>::new(());
    for align in (0..).map(|power| 1 << power).take_while(|&align| align <= most) {
        let scope = pool.scope();
        let needed = StackReq::new_aligned::<u8>(100, align);
        let stack = stack_of(&scope, needed);
        assert!(stack.can_hold(needed));
        let (bytes, rest) = stack.make_aligned_with(100, align, |i| [1_u8, 2][i % 2]);
        assert_eq!((bytes.as_ptr().addr() % align, bytes[99]), (0, 2));
        assert_eq!(rest.len_bytes(), needed.size_bytes() - 100);
    }
}

#[test]
fn a_stack_that_does_not_fit_is_an_error() {
    let mut pool = Pool::<Cpu>::new(());
    assert!(pool.configure(PoolConfig::new().byte_limit(4096)).is_ok());
    let scope = pool.scope();
    let needed = StackReq::new::<f64>(10_000);
    let refused = scope.try_scratch(needed.size_bytes(), needed.align_bytes());
    assert!(matches!(refused, Err(PoolError::LimitExceeded { limit: 4096, .. })));
    // For a need that overflows, dyn-stack reports an alignment of 0.
    let impossible = StackReq::new::<f64>(usize::MAX);
    let refused = scope.try_scratch(impossible.size_bytes(), impossible.align_bytes());
    assert!(matches!(refused, Err(PoolError::Alignment { asked: 0 })));
    assert!(stack_of(&scope, StackReq::new::<f64>(100)).can_hold(StackReq::new::<f64>(100)));
}
