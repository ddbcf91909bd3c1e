//! Safe code against the cached header of an array of dynamic rank. The user holds an `&mut
//! ArrayRef`, and through it every operation that `ndarray` offers safe code on a header in place.
//! For every state of the header, the next hit returns the right array: the block's address, the
//! shape, the strides, and every element usable.
//!
//! Two headers cannot be swapped by value: a compile error, which the tests of the facade check.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use ndarray::{ArrayD, ArrayRef, Axis, IxDyn, LayoutRef, RawRef, Slice, SliceInfoElem, Zip};
use pool_core::{Pool, Scope};
use pool_cpu::{AcquireArray, Cpu};

type Header = ArrayRef<f64, IxDyn>;

/// A way to change a header in place.
struct Mutation {
    name: &'static str,
    /// Below this rank it would panic.
    least_rank: usize,
    /// `true` if it would panic without elements.
    needs_elements: bool,
    apply: fn(&mut Header),
}

const fn mutation(name: &'static str, least_rank: usize, apply: fn(&mut Header)) -> Mutation {
    Mutation { name, least_rank, needs_elements: false, apply }
}

const fn of_elements(name: &'static str, apply: fn(&mut Header)) -> Mutation {
    Mutation { name, least_rank: 1, needs_elements: true, apply }
}

/// Every safe method of `ArrayRef`, `RawRef` and `LayoutRef` of `ndarray` 0.17 that writes the
/// header, with arguments that move its address forwards, backwards, or not at all.
const MUTATIONS: &[Mutation] = &[
    mutation("swap_axes", 1, |header| {
        let last = header.ndim() - 1;
        header.swap_axes(0, last);
    }),
    mutation("invert_axis, the first", 1, |header| header.invert_axis(Axis(0))),
    mutation("invert_axis, the last", 1, |header| {
        let axis = last(header);
        header.invert_axis(axis);
    }),
    of_elements("collapse_axis to the start", |header| header.collapse_axis(Axis(0), 0)),
    of_elements("collapse_axis to the end", |header| {
        let (axis, index) = (last(header), header.len_of(last(header)) - 1);
        header.collapse_axis(axis, index);
    }),
    mutation("merge_axes", 2, |header| {
        header.merge_axes(Axis(0), Axis(1));
    }),
    mutation("merge_axes backwards", 2, |header| {
        let axis = last(header);
        header.merge_axes(axis, Axis(0));
    }),
    mutation("slice_axis_inplace, backwards in steps", 1, |header| {
        header.slice_axis_inplace(Axis(0), Slice::new(0, None, -2));
    }),
    of_elements("slice_axis_inplace, the end", |header| {
        let axis = last(header);
        header.slice_axis_inplace(axis, Slice::from(1..));
    }),
    mutation("slice_axis_inplace, nothing", 1, |header| {
        let end = header.len_of(Axis(0));
        header.slice_axis_inplace(Axis(0), Slice::from(end..));
    }),
    mutation("slice_each_axis_inplace", 0, |header| {
        header.slice_each_axis_inplace(|_| Slice::new(0, None, -1));
    }),
    mutation("slice_each_axis_inplace, with a panic midway", 2, |header| {
        let panicked = catch_unwind(AssertUnwindSafe(|| {
            header.slice_each_axis_inplace(|axis| match axis.axis {
                Axis(0) => Slice::new(0, None, -2),
                _ => resume_unwind(Box::new("midway")),
            });
        }));
        assert!(panicked.is_err());
    }),
    of_elements("slice_collapse", |header| {
        let whole = SliceInfoElem::Slice { start: 0, end: None, step: -1 };
        let mut elements = vec![whole; header.ndim()];
        elements[0] = SliceInfoElem::Index(-1);
        header.slice_collapse(&*elements);
    }),
    mutation("insert_axis_inplace at the start", 0, |header| header.insert_axis_inplace(Axis(0))),
    mutation("insert_axis_inplace at the end", 0, |header| {
        let end = header.ndim();
        header.insert_axis_inplace(Axis(end));
    }),
    of_elements("index_axis_inplace", |header| {
        let index = header.len_of(Axis(0)) - 1;
        header.index_axis_inplace(Axis(0), index);
    }),
    of_elements("remove_index", |header| header.remove_index(Axis(0), 0)),
    mutation("through LayoutRef", 1, |header| {
        let layout: &mut LayoutRef<f64, IxDyn> = header.as_mut();
        layout.invert_axis(Axis(0));
        layout.swap_axes(0, layout.ndim() - 1);
    }),
    of_elements("through RawRef", |header| {
        let raw: &mut RawRef<f64, IxDyn> = header.as_mut();
        raw.slice_axis_inplace(Axis(0), Slice::from(..1));
    }),
];

impl Mutation {
    /// Returns `true` if it was applied; it is not if it would panic.
    fn apply(&self, header: &mut Header) -> bool {
        let applies =
            header.ndim() >= self.least_rank && !(self.needs_elements && header.is_empty());
        if applies {
            (self.apply)(header);
        }
        applies
    }
}

/// The last axis of an array that has one.
fn last(header: &Header) -> Axis {
    Axis(header.ndim() - 1)
}

/// Shapes with room for every mutation, on both sides of what `ndarray` keeps without the heap.
const SHAPES: &[&[usize]] = &[&[4], &[2, 2], &[3, 4], &[1, 5, 1], &[0, 3], &[2, 2, 1, 2, 3], &[]];

/// Acquires the array of a shape on the first slot and compares all of it with its expected state.
fn acquire_checked<'s>(
    scope: &Scope<'s, Cpu>,
    dims: &[usize],
    block: *const f64,
) -> &'s mut Header {
    let array = scope.acquire_array_dyn::<f64>(dims);
    let own = ArrayD::<f64>::zeros(IxDyn(dims));
    assert_eq!((array.shape(), array.strides()), (own.shape(), own.strides()));
    assert_eq!(array.as_ptr(), block);
    array.iter_mut().for_each(|element| *element = 1.0);
    assert!(array.as_slice().is_some_and(|slice| slice.iter().all(|&element| element == 1.0)));
    array
}

/// Uses the array of a mutated header, as its holder may.
fn use_all(header: &mut Header) {
    for element in header.iter_mut() {
        *element += 2.0;
    }
    header.mapv_inplace(|element| element - 2.0);
    assert!(header.iter().all(|&element| element == 1.0 || element == -1.0));
    assert_eq!(header.to_owned().shape(), header.shape());
}

/// The address of the block of the first slot, which stays for the rest of the test.
fn settled_block(pool: &mut Pool<Cpu>) -> *const f64 {
    pool.scope().acquire::<f64, _>(100).as_ptr()
}

/// The shapes that are attacked: all; for Miri, which is slow here, every second one, and the others under another
/// seed.
fn attacked_shapes() -> Vec<&'static [usize]> {
    let seed = std::env::var("POOL_TEST_SEED").map_or(0, |seed| seed.parse().unwrap_or(0));
    let (first, step) = if cfg!(miri) { (seed % 2, 2) } else { (0, 1) };
    SHAPES.iter().copied().skip(first).step_by(step).collect()
}

/// Applies each sequence to each shape; how many mutations were applied.
fn attack(sequences: impl Iterator<Item = Vec<&'static Mutation>>) -> usize {
    let mut pool = Pool::<Cpu>::new(());
    let block = settled_block(&mut pool);
    let (mut attacks, mut applied) = (0, 0);
    let shapes = attacked_shapes();
    for sequence in sequences {
        for &dims in &shapes {
            let names: Vec<&str> = sequence.iter().map(|mutation| mutation.name).collect();
            println!("{names:?} on {dims:?}");
            let scope = pool.scope();
            let header = acquire_checked(&scope, dims, block);
            for mutation in &sequence {
                applied += usize::from(mutation.apply(header));
                use_all(header);
            }
            // Twice: a header that is made again is hit again.
            acquire_checked(&pool.scope(), dims, block);
            acquire_checked(&pool.scope(), dims, block);
            attacks += 1;
        }
    }
    let stats = pool.stats();
    assert_eq!(stats.growths, 1);
    assert_eq!(stats.shape_hits + stats.shape_misses, 3 * attacks);
    applied
}

#[test]
fn shape_header_mutated_by_user() {
    let applied = attack(MUTATIONS.iter().map(|mutation| vec![mutation]));
    assert!(applied > MUTATIONS.len() * attacked_shapes().len().saturating_sub(3), "{applied}");
}

/// Two and three mutations in a row. They include all that return a header to the block's address
/// in another shape, or to its own shape at another address.
#[test]
fn shape_header_mutated_several_times() {
    let step = if cfg!(miri) { 3_001 } else { 1 };
    let triples = MUTATIONS.iter().flat_map(|first| {
        MUTATIONS
            .iter()
            .flat_map(move |second| MUTATIONS.iter().map(move |third| vec![first, second, third]))
    });
    let count = MUTATIONS.len().pow(3).div_ceil(step) * attacked_shapes().len();
    assert!(attack(triples.step_by(step)) > count, "three a sequence, most of them applied");
}

/// At each axis of each rank, a header whose length differs only there, one whose stride does, and
/// one with both. In each, address and rank are unchanged.
#[test]
fn headers_changed_at_one_axis_of_any_rank() {
    let mut pool = Pool::<Cpu>::new(());
    let block = settled_block(&mut pool);
    let shorter = |header: &mut Header, axis| header.slice_axis_inplace(axis, Slice::from(..2));
    let alone = |header: &mut Header, axis| header.slice_axis_inplace(axis, Slice::from(..1));
    let backwards = |header: &mut Header, axis| header.invert_axis(axis);
    type Change = fn(&mut Header, Axis);
    // The change, the length of its axis, and whether lengths and strides are others after it.
    let changes: [(Change, usize, (bool, bool)); 3] =
        [(shorter, 3, (true, false)), (alone, 2, (true, true)), (backwards, 1, (false, true))];
    // For Miri, which is slow here: the ranks at the ends, and one change at each axis.
    let ranks: &[usize] = if cfg!(miri) { &[4, 5, 8] } else { &[1, 2, 3, 4, 5, 6, 7, 8, 9] };
    for &rank in ranks {
        for axis in 0..rank {
            let (skipped, step) = if cfg!(miri) { ((rank + axis) % 3, 3) } else { (0, 1) };
            for (change, length, expected) in changes.into_iter().skip(skipped).step_by(step) {
                let mut dims = vec![1; rank];
                dims[axis] = length;
                // Another axis with a length of its own, if there is one.
                dims[(axis + 1) % rank] *= if rank > 1 { 2 } else { 1 };
                let scope = pool.scope();
                let header = acquire_checked(&scope, &dims, block);
                let strides = header.strides().to_owned();
                change(header, Axis(axis));
                let at = |axis| header.strides()[axis] != strides[axis];
                assert_eq!((header.as_ptr(), header.ndim()), (block, rank));
                assert_eq!((header.shape() != dims, at(axis)), expected, "axis {axis} of {dims:?}");
                assert!((0..rank).all(|other| other == axis || !at(other)));
                acquire_checked(&pool.scope(), &dims, block);
            }
        }
    }
}

/// Two axes of one length swapped: only the strides differ, and only at these two.
#[test]
fn headers_with_any_two_axes_swapped() {
    let mut pool = Pool::<Cpu>::new(());
    let block = settled_block(&mut pool);
    let ranks = if cfg!(miri) { 5..=5 } else { 2..=9 };
    for rank in ranks {
        for (first, second) in (0..rank).flat_map(|i| (0..i).map(move |j| (j, i))) {
            let mut dims = vec![1; rank];
            (dims[first], dims[second]) = (2, 2);
            acquire_checked(&pool.scope(), &dims, block).swap_axes(first, second);
            acquire_checked(&pool.scope(), &dims, block);
        }
    }
}

/// While a mutated header is in use, so are those of other slots with the same shape.
#[test]
fn mutated_headers_side_by_side() {
    let mut pool = Pool::<Cpu>::new(());
    for pass in 0..3 {
        let scope = pool.scope();
        let mut headers: Vec<&mut Header> =
            MUTATIONS.iter().map(|_| scope.acquire_array_dyn::<f64>(&[2, 1, 3, 1, 2])).collect();
        for (header, value) in headers.iter_mut().zip(0_u32..) {
            assert_eq!((header.shape(), header.len()), (&[2, 1, 3, 1, 2][..], 12));
            header.fill(f64::from(value));
        }
        for (header, mutation) in headers.iter_mut().zip(MUTATIONS) {
            assert!(mutation.apply(header), "{}", mutation.name);
        }
        for (header, value) in headers.iter().zip(0_u32..) {
            assert!(header.iter().all(|&element| element == f64::from(value)), "pass {pass}");
        }
    }
}

/// The parts of two headers that can be swapped: the references, the elements, views of them and
/// raw views. None of it puts one block's address into the other's header.
#[test]
fn shape_header_swapped_by_user() {
    const DIMS: &[usize] = &[2, 2, 1, 1, 2];
    let mut outer_pool = Pool::<Cpu>::new(());
    let outer_block = settled_block(&mut outer_pool);
    for _ in 0..4 {
        let mut inner_pool = Pool::<Cpu>::new(());
        let inner_block = settled_block(&mut inner_pool);
        for _ in 0..2 {
            let (outer_scope, inner_scope) = (outer_pool.scope(), inner_pool.scope());
            let mut outer = acquire_checked(&outer_scope, DIMS, outer_block);
            let mut inner = acquire_checked(&inner_scope, DIMS, inner_block);
            swap_everything(outer, inner);

            std::mem::swap(&mut outer, &mut inner);
            assert_eq!((outer.as_ptr(), inner.as_ptr()), (inner_block, outer_block));
            swap_everything(outer, inner);
            outer.invert_axis(Axis(0));
            inner.swap_axes(0, 2);
        }
        // The inner pool ends here, and the next one may get its memory.
    }
    acquire_checked(&outer_pool.scope(), DIMS, outer_block);
}

fn swap_everything(left: &mut Header, right: &mut Header) {
    left.fill(1.0);
    right.fill(2.0);
    Zip::from(&mut *left).and(&mut *right).for_each(std::mem::swap);
    assert!(left.iter().all(|&element| element == 2.0));
    {
        let (mut left, mut right) = (left.view_mut(), right.view_mut());
        std::mem::swap(&mut left, &mut right);
        left.fill(3.0);
        right.assign(&left);
        right.swap_axes(0, 1);
    }
    {
        let (mut left, mut right) = (left.raw_view_mut(), right.raw_view_mut());
        std::mem::swap(&mut left, &mut right);
        left.clone_from(&right);
    }
    assert!(left.iter().chain(right.iter()).all(|&element| element == 3.0));
    let mut owned = ArrayD::zeros(left.shape());
    left.clone_into(&mut owned);
    std::mem::swap(&mut owned[[0, 0, 0, 0, 0]], &mut right[[1, 1, 0, 0, 1]]);
    left.swap([0, 0, 0, 0, 0], [1, 0, 0, 0, 0]);
    left.assign(right);
}

/// The element type of a header is not the user's to change: a raw view of other elements is a copy.
#[test]
fn casts_of_raw_views_leave_the_header() {
    let mut pool = Pool::<Cpu>::new(());
    let block = settled_block(&mut pool);
    for _ in 0..3 {
        let scope = pool.scope();
        let array = acquire_checked(&scope, &[2, 3], block);
        let mut cast = array.raw_view_mut().cast::<u64>();
        cast.invert_axis(Axis(0));
        assert_eq!(cast.shape(), [2, 3]);
        assert_eq!(array.strides(), [3, 1]);
        array.cell_view().iter().for_each(|cell| cell.set(0.5));
        assert_eq!(array.sum(), 3.0);
    }
}

/// A scope that ended by a panic leaves a header like any other.
#[test]
fn a_panic_with_a_mutated_header() {
    let mut pool = Pool::<Cpu>::new(());
    let block = settled_block(&mut pool);
    for _ in 0..3 {
        let panicked = catch_unwind(AssertUnwindSafe(|| {
            let mut scope = pool.scope();
            let array = acquire_checked(&scope, &[3, 4], block);
            array.slice_axis_inplace(Axis(0), Slice::new(0, None, -1));
            let inner = scope.scope();
            inner.acquire_array_dyn::<f64>(&[3, 4]).merge_axes(Axis(0), Axis(1));
            array.invert_axis(Axis(1));
            resume_unwind(Box::new("midway"));
        }));
        assert!(panicked.is_err());
        acquire_checked(&pool.scope(), &[3, 4], block);
    }
}
