//! Arrays by the shapes of `ndarray` itself: every form and rank in both orders, compared with
//! `ndarray`'s own array of the same shape; code that is generic over `D: Dimension`; parts of
//! arrays; and refused shapes.

use core::cell::Cell;

use ndarray::{
    Array, ArrayRef, ArrayViewMut, Axis, Dim, Dimension, Ix2, IxDyn, Shape, ShapeBuilder,
    StrideShape, Zip, s,
};
use pool_core::{Pool, PoolConfig, PoolError, Scope, ShapeError};
use pool_cpu::{AcquireArray, Cpu, IntoNdarray};

/// Holds a view against `ndarray`'s own array of the shape, and writes each element by its index.
fn check<Sh: ShapeBuilder>(mut view: ArrayViewMut<'_, u32, Sh::Dim>, shape: Sh) {
    let mut own = Array::<u32, _>::zeros(shape);
    assert_eq!((view.shape(), view.strides()), (own.shape(), own.strides()));
    for (array, value) in [(&mut *view, 0), (&mut *own, 0)] {
        array.iter_mut().zip(value..).for_each(|(element, value)| *element = value);
    }
    assert_eq!(view, own);
    assert_eq!(view.as_slice_memory_order(), own.as_slice_memory_order());
    assert!(view.as_slice_memory_order().is_some(), "contiguous");
}

/// Every member of the family, twice, so that the second time is recycled; for Miri, which is slow here, one member.
fn check_family<Sh: ShapeBuilder + Clone>(scope: &mut Scope<'_, Cpu>, shape: &Sh) {
    for _ in 0..2 {
        let scope = scope.scope();
        check(scope.acquire_array(shape.clone()), shape.clone());
        if cfg!(miri) {
            return;
        }
        check(scope.try_acquire_array(shape.clone()).expect("memory"), shape.clone());
        assert_eq!(scope.active_slots(), 2);
    }
}

#[test]
fn every_form_of_a_shape() {
    let mut pool = Pool::<Cpu>::new(());
    let mut scope = pool.scope();
    let like = Array::<u8, _>::zeros((2, 3));
    check_family(&mut scope, &5);
    check_family(&mut scope, &(5,));
    check_family(&mut scope, &5.f());
    check_family(&mut scope, &(3, 4));
    check_family(&mut scope, &[3, 4]);
    check_family(&mut scope, &(3, 4).f());
    check_family(&mut scope, &(3, 4).set_f(false));
    check_family(&mut scope, &Dim([2, 3]));
    check_family(&mut scope, &Dim((2, 3)));
    check_family(&mut scope, &Ix2(2, 3).f());
    check_family(&mut scope, &like.raw_dim());
    check_family(&mut scope, &IxDyn(&[2, 3, 4]));
    check_family(&mut scope, &&[2, 3, 4][..]);
    check_family(&mut scope, &vec![2, 3, 4].f());
    check_family(&mut scope, &());
    check_family(&mut scope, &[].f());
}

/// All shapes with lengths from 0 to 3, in both orders, of a fixed rank and of a dynamic one.
#[test]
fn every_small_shape_of_every_rank() {
    fn both_orders<D: Dimension>(scope: &mut Scope<'_, Cpu>, dim: D) {
        check_family(scope, &dim.clone());
        check_family(scope, &dim.f());
    }
    let mut pool = Pool::<Cpu>::new(());
    let mut scope = pool.scope();
    let lengths = if cfg!(miri) { 2..=2_usize } else { 0..=3 };
    for a in lengths.clone() {
        both_orders(&mut scope, Dim([a]));
        for b in lengths.clone() {
            both_orders(&mut scope, Dim([a, b]));
            both_orders(&mut scope, IxDyn(&[a, b, 1, 2, a, 1, 2]));
            for c in lengths.clone() {
                both_orders(&mut scope, Dim([a, b, c]));
                both_orders(&mut scope, Dim([a, b, 2, c]));
                both_orders(&mut scope, Dim([a, 2, b, 1, c]));
                both_orders(&mut scope, Dim([a, 2, b, 1, c, 3]));
                both_orders(&mut scope, IxDyn(&[a, b, c]));
            }
        }
    }
}

/// Holds a view against `ndarray`'s own array: lengths, strides and contents.
fn check_same<D: Dimension>(view: &ArrayViewMut<'_, u32, D>, own: &Array<u32, D>) {
    assert_eq!((view.shape(), view.strides()), (own.shape(), own.strides()));
    assert_eq!(view, own);
}

/// Zeros and one value in memory that was written before, in both orders, of a fixed rank and of a dynamic one. An array
/// in column-major order is one in row-major order with reversed axes.
macro_rules! check_contents {
    ($scope:expr, $lengths:expr) => {{
        let lengths = $lengths;
        let mut reversed = lengths;
        reversed.reverse();
        write_slots($scope, lengths.iter().product());
        let scope = $scope.scope();
        let (zeros, sevens) = (Array::zeros(lengths), Array::from_elem(lengths, 7));
        check_same(&scope.acquire_zeroed(lengths).into_ndarray(), &zeros);
        check_same(&scope.acquire_filled(lengths, 7).into_ndarray(), &sevens);
        check_same(&scope.acquire_zeroed(&lengths[..]).into_ndarray(), &zeros.into_dyn());
        check_same(&scope.acquire_filled(&lengths[..], 7).into_ndarray(), &sevens.into_dyn());
        let (zeros, sevens) = (Array::zeros(lengths.f()), Array::from_elem(lengths.f(), 7));
        check_same(&scope.acquire_zeroed(reversed).into_ndarray().reversed_axes(), &zeros);
        check_same(&scope.acquire_filled(reversed, 7).into_ndarray().reversed_axes(), &sevens);
    }};
}

/// Writes the slots that [`check_contents`] uses afterwards.
fn write_slots(scope: &mut Scope<'_, Cpu>, length: usize) {
    let scope = scope.scope();
    for _ in 0..6 {
        scope.acquire_filled(length, 0xABAD_CAFE_u32);
    }
}

#[test]
fn zeros_and_one_value_of_every_small_shape_in_both_orders() {
    let mut pool = Pool::<Cpu>::new(());
    let mut scope = pool.scope();
    let lengths = if cfg!(miri) { 2..=2_usize } else { 0..=3 };
    for a in lengths.clone() {
        check_contents!(&mut scope, [a]);
        for b in lengths.clone() {
            check_contents!(&mut scope, [a, b]);
            for c in lengths.clone() {
                check_contents!(&mut scope, [a, b, c]);
                check_contents!(&mut scope, [a, b, 2, c]);
                check_contents!(&mut scope, [a, 2, b, 1, c]);
                check_contents!(&mut scope, [a, 2, b, 1, c, 3]);
            }
        }
    }
}

/// Generic over any rank, as a filter is: the argument's shape, with its order.
fn doubled<'s, D: Dimension>(
    scope: &Scope<'s, Cpu>,
    array: &ArrayRef<f64, D>,
) -> ArrayViewMut<'s, f64, D> {
    let mut doubled = scope.acquire_array(array.raw_dim());
    Zip::from(&mut doubled).and(array).for_each(|doubled, &element| *doubled = 2.0 * element);
    doubled
}

#[test]
fn generic_code_of_any_dimension() {
    let mut pool = Pool::<Cpu>::new(());
    let mut scope = pool.scope();
    let square = Array::from_shape_fn((3, 3).f(), |(row, column)| (row + 10 * column) as f64);
    assert_eq!(doubled(&scope, &square), &square * 2.0);
    let inner = scope.scope();
    let deep = square.clone().into_dyn().insert_axis(Axis(0));
    assert_eq!(doubled(&inner, &deep), &deep * 2.0);
    assert_eq!(doubled(&inner, &square.index_axis(Axis(0), 1)), &square.row(1) * 2.0);
    assert_eq!(doubled(&inner, &Array::from_elem((), 1.5)), Array::from_elem((), 3.0));
}

#[test]
fn repeated_elements_are_of_any_type_that_is_copy() {
    let mut pool = Pool::<Cpu>::new(());
    let name = String::from("outlives the scope");
    let scope = pool.scope();
    let mut grid = scope.acquire_with((2, 3), |_| (1_u8, Some(name.as_str()))).into_ndarray();
    grid[[1, 2]].1 = None;
    assert_eq!(grid.iter().filter(|(_, name)| name.is_some()).count(), 5);
}

/// Parts of an array: disjoint, usable side by side, and on other threads.
#[test]
fn parts_of_an_array() {
    let mut pool = Pool::<Cpu>::new(());
    for _ in 0..2 {
        let scope = pool.scope();
        let mut array = scope.acquire_array::<i32, _>((6, 4).f());
        array.fill(0);
        array.slice_mut(s![1..3, ..;2]).fill(1);
        assert_eq!(array.sum(), 4);
        array.slice_mut(s![..;-1, 1]).assign(&Array::from_iter(0..6));
        assert_eq!(array[[0, 1]], 5);
        let (mut even, odd) = array.multi_slice_mut((s![..;2, ..], s![1..;2, ..]));
        even += &odd;
        array.fill(2);
        let (mut top, mut bottom) = array.view_mut().split_at(Axis(0), 2);
        std::thread::scope(|threads| {
            threads.spawn(|| top.fill(3));
            bottom.axis_iter_mut(Axis(0)).for_each(|mut row| row.fill(4));
        });
        assert_eq!(array.sum(), 8 * 3 + 16 * 4);
        // By value, a part lives as long as the whole did.
        let (_, rest) = array.split_at(Axis(1), 1);
        let mut last = rest.index_axis_move(Axis(1), 2);
        last[5] = 100;
        let other = scope.acquire_zeroed::<i32, _>((6, 4)).into_ndarray();
        assert_eq!((last.sum(), other.sum()), (3 * 2 + 4 * 3 + 100, 0));
    }
}

/// A transposed or reversed view belongs to its holder: the next acquire makes its view anew.
#[test]
fn a_view_that_was_changed_changes_no_other() {
    let mut pool = Pool::<Cpu>::new(());
    for _ in 0..3 {
        let scope = pool.scope();
        let mut view = scope.acquire_array::<u32, _>((3, 4));
        view.invert_axis(Axis(0));
        view.swap_axes(0, 1);
        view.fill(1);
        check(pool.scope().acquire_array((3, 4)), (3, 4));
    }
    assert_eq!(pool.stats().growths, 1);
}

#[test]
fn what_is_refused_takes_no_slot() {
    let most = isize::MAX as usize;
    let mut pool = Pool::<Cpu>::with_config((), PoolConfig::new().byte_limit(4096)).unwrap();
    let scope = pool.scope();
    let overflow = |rank| Err(PoolError::Shape(ShapeError::Overflow { rank, element_size: 8 }));
    let tried =
        |shape: Shape<IxDyn>| scope.try_acquire_array::<f64, _>(shape).map(|array| array.len());
    for dims in [
        &[usize::MAX][..],
        &[most / 8 + 1],
        &[usize::MAX, 2],
        &[2, usize::MAX, 0],
        &[0, most, 2],
        &[1 << 16; 5],
        &[1 << 16; 8],
    ] {
        for order in [false, true] {
            assert_eq!(tried(IxDyn(dims).set_f(order)), overflow(dims.len()), "{dims:?}");
        }
    }
    let limit = scope.try_acquire_array::<f64, _>((1 << 10, 1 << 10).f()).unwrap_err();
    assert!(
        matches!(limit, PoolError::LimitExceeded { limit: 4096, requested, .. } if requested >= 8 << 20)
    );
    assert_eq!((scope.active_slots(), scope.stats().growths), (0, 0));
    assert_eq!(scope.acquire_filled((3, 4), 1.0).into_ndarray().sum(), 12.0);
    assert_eq!(scope.acquire_array::<u8, _>((most, 0).f()).shape(), [most, 0]);
}

#[test]
fn elements_without_size_have_any_length() {
    let most = isize::MAX as usize;
    let mut pool = Pool::<Cpu>::new(());
    let scope = pool.scope();
    assert_eq!(scope.acquire_array::<(), _>((most, 1)).len(), most);
    let error = scope.try_acquire_array::<(), _>((most, 2).f()).unwrap_err();
    assert_eq!(error, PoolError::Shape(ShapeError::Overflow { rank: 2, element_size: 0 }));
    assert_eq!(pool.stats().growths, 0);
}

/// The panic of each twin without `try_` has the text of the error, and leaves the pool usable.
#[test]
fn twins_without_try_panic_with_the_error() {
    type Twin = fn(&Scope<'_, Cpu>) -> usize;
    let twins: [(&str, Twin); 4] = [
        ("2 axes", |scope| scope.acquire_array::<f64, _>((usize::MAX, 2)).len()),
        ("7 axes", |scope| scope.acquire_array::<f64, _>(IxDyn(&[usize::MAX; 7])).len()),
        ("2 axes", |scope| scope.acquire_zeroed::<f64, _>((usize::MAX, 2)).len()),
        ("2 axes", |scope| scope.acquire_filled((usize::MAX, 2), 1.0).len()),
    ];
    let mut pool = Pool::<Cpu>::new(());
    for (axes, twin) in twins {
        let scope = pool.scope();
        let panicked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| twin(&scope)));
        let text = panicked.unwrap_err().downcast::<String>().unwrap();
        assert!(text.starts_with(&format!("the shape with {axes} is too large")), "{text}");
        assert_eq!(scope.active_slots(), 0);
        check(scope.acquire_array((3, 4)), (3, 4));
    }
}

/// A custom shape that acquires while it is read, and returns a different value each time.
struct Moody<'a, 's> {
    scope: &'a Scope<'s, Cpu>,
    asked: &'a Cell<usize>,
}

impl ShapeBuilder for Moody<'_, '_> {
    type Dim = Ix2;
    type Strides = Ix2;

    fn into_shape_with_order(self) -> Shape<Ix2> {
        self.scope.acquire_array::<u8, _>(100).fill(1);
        self.asked.set(self.asked.get() + 1);
        Ix2(self.asked.get(), 3).f()
    }

    fn f(self) -> Shape<Ix2> {
        self.into_shape_with_order()
    }

    fn set_f(self, _: bool) -> Shape<Ix2> {
        self.into_shape_with_order()
    }

    fn strides(self, strides: Ix2) -> StrideShape<Ix2> {
        self.into_shape_with_order().strides(strides)
    }
}

#[test]
fn a_shape_is_asked_once_and_may_acquire() {
    let asked = Cell::new(0);
    let mut pool = Pool::<Cpu>::new(());
    let scope = pool.scope();
    let moody = || Moody { scope: &scope, asked: &asked };
    check(scope.acquire_array(moody()), (1, 3).f());
    check(scope.try_acquire_array(moody()).unwrap(), (2, 3).f());
    assert_eq!((asked.get(), scope.active_slots()), (2, 4));
}
