//! Pool arrays as `ndarray` views: every fixed rank through every member of the acquire family, and
//! dynamic ranks by value, compared with `ndarray`'s own array of the same shape.

use ndarray::{Array, ArrayD, ArrayView, ArrayViewMut, Dimension, IntoDimension, IxDyn};
use pool_core::{Pool, PoolError, PoolView, ShapeError};
use pool_cpu::{AcquireArray, Cpu, IntoNdarray};

/// Holds a view against `ndarray`'s own array of the shape: the shape, the strides, and that each
/// index names its own element in row-major order.
fn check<D: Dimension>(mut view: ArrayViewMut<'_, f64, D>, dims: &[usize]) {
    let own = ArrayD::<f64>::zeros(IxDyn(dims));
    assert_eq!(view.shape(), own.shape());
    assert_eq!(view.strides(), own.strides(), "{dims:?}");
    assert_eq!(view.len(), own.len());
    assert!(view.is_standard_layout());
    let mut next = 0.0;
    for element in &mut view {
        *element = next;
        next += 1.0;
    }
    let slice = view.as_slice().expect("standard layout");
    assert!(slice.iter().zip(0_u32..).all(|(&value, i)| value == f64::from(i)), "{dims:?}");
}

/// All elements of a view, in logical order.
fn elements<D: Dimension>(view: &ArrayView<'_, f64, D>) -> Vec<f64> {
    view.iter().copied().collect()
}

macro_rules! fixed_rank {
    ($test:ident: $($dims:expr),+) => {
        #[test]
        fn $test() {
            let mut pool = Pool::<Cpu>::new(());
            $(
                let dims = $dims;
                let count = dims.iter().product::<usize>();
                for _ in 0..2 {
                    let mut scope = pool.scope();
                    check(scope.acquire_array::<f64, _>(dims), &dims);
                    check(scope.acquire::<f64, _>(dims).into_ndarray(), &dims);

                    let mut zeroed = scope.acquire_zeroed::<f64, _>(dims).into_ndarray();
                    assert_eq!(elements(&zeroed.view()), vec![0.0; count]);
                    let filled = scope.acquire_filled(dims, 2.5_f64).into_ndarray();
                    assert_eq!(elements(&filled.view()), vec![2.5; count]);

                    let mut source = Vec::new();
                    let own = Array::from_shape_fn(dims.into_dimension(), |_| {
                        source.push(source.len() as f64);
                        source[source.len() - 1]
                    });
                    let copied = scope.acquire_from(&source).reshape(dims).into_ndarray();
                    assert_eq!(copied, own);
                    let like = scope.acquire_filled(dims, 1.0_f32);
                    check(scope.acquire::<f64, _>(like.dims()).into_ndarray(), &dims);
                    let made = scope
                        .acquire_with(dims, |index| index.iter().map(|&i| i as f64).sum::<f64>())
                        .into_ndarray();
                    for (index, &value) in made.indexed_iter() {
                        let index = index.into_dimension();
                        assert_eq!(value, index.slice().iter().map(|&i| i as f64).sum::<f64>());
                    }

                    // The views are distinct memory: writing one changes no other.
                    zeroed.fill(-1.0);
                    assert_eq!(copied, own);
                    assert!(filled.iter().all(|&value| value == 2.5));
                    let inner = scope.scope();
                    let mut scratch = inner.acquire_array::<f64, _>(dims);
                    scratch.assign(&copied);
                    scratch += &filled;
                    assert_eq!(scratch, own + 2.5);
                }
            )+
            let error = pool.scope().try_acquire::<f64, _>($crate::arrays::too_many(&[$($dims),+][0]));
            assert!(matches!(
                error,
                Err(PoolError::Shape(ShapeError::Overflow { element_size: 8, .. }))
            ));
        }
    };
}

/// A shape of the same rank whose product overflows.
pub(crate) fn too_many<const N: usize>(_: &[usize; N]) -> [usize; N] {
    let mut dims = [2; N];
    dims[0] = isize::MAX as usize / 8 + 1;
    dims
}

fixed_rank!(rank_1: [1], [7], [0]);
fixed_rank!(rank_2: [3, 4], [1, 1], [0, 3], [3, 0]);
fixed_rank!(rank_3: [2, 3, 4], [1, 5, 1], [2, 0, 4]);
fixed_rank!(rank_4: [2, 1, 3, 2], [1, 1, 1, 1], [2, 2, 2, 0]);
fixed_rank!(rank_5: [2, 2, 2, 2, 2], [1, 3, 1, 2, 1], [0, 0, 1, 1, 1]);
fixed_rank!(rank_6: [1, 2, 1, 2, 1, 2], [2, 2, 1, 3, 1, 1], [1, 1, 0, 1, 1, 9]);

#[test]
fn tuples_are_shapes() {
    let mut pool = Pool::<Cpu>::new(());
    let scope = pool.scope();
    check(scope.acquire_array::<f64, _>((5,)), &[5]);
    check(scope.acquire_array::<f64, _>((2, 3)), &[2, 3]);
    check(scope.acquire_array::<f64, _>((2, 3, 4)), &[2, 3, 4]);
    check(scope.acquire_array::<f64, _>((1, 2, 3, 4)), &[1, 2, 3, 4]);
    check(scope.acquire_array::<f64, _>((1, 2, 1, 2, 1)), &[1, 2, 1, 2, 1]);
    check(scope.acquire_array::<f64, _>((1, 2, 1, 2, 1, 2)), &[1, 2, 1, 2, 1, 2]);
}

#[test]
fn a_view_outlives_the_scope_value() {
    let mut pool = Pool::<Cpu>::new(());
    let mut view = {
        let scope = pool.scope();
        scope.acquire_filled([2, 2], 1.0_f32).into_ndarray()
    };
    view[[1, 1]] = 3.0;
    assert_eq!(view.sum(), 6.0);
}

#[test]
fn reshaped_and_split_arrays_become_views() {
    let mut pool = Pool::<Cpu>::new(());
    let scope = pool.scope();
    let array = scope.acquire_with([6, 2], |[i, j]| (2 * i + j) as f64);
    let (top, bottom) = array.reshape([4, 3]).split_at(1);
    let (mut top, bottom) = (top.into_ndarray(), bottom.into_ndarray());
    assert_eq!((top.shape(), bottom.shape()), (&[1, 3][..], &[3, 3][..]));
    assert_eq!(bottom[[2, 2]], 11.0);
    top.assign(&bottom.row(2));
    assert_eq!(top.as_slice(), Some(&[9.0, 10.0, 11.0][..]));
}

/// By value, a view of dynamic rank copies its dims, and goes on when its pool's shape cache forgets
/// them.
#[test]
fn dynamic_ranks_by_value() {
    let mut pool = Pool::<Cpu>::new(());
    for _ in 0..2 {
        let scope = pool.scope();
        for dims in dynamic_shapes() {
            let array = scope.acquire::<f64, _>(dims);
            assert_eq!((array.shape(), array.rank()), (dims, dims.len()));
            check(array.into_ndarray(), dims);
            let zeroed = scope.acquire_zeroed::<f64, _>(dims).into_ndarray();
            assert_eq!(zeroed, ArrayD::zeros(dims));
            let filled = scope.acquire_filled::<f64, _>(dims, 4.0).into_ndarray();
            assert_eq!(filled, ArrayD::from_elem(dims, 4.0));
        }
    }
}

/// Ranks 0, 1, 4, 5 and 8, on both sides of what `ndarray` keeps without a heap allocation, some
/// without elements.
pub(crate) fn dynamic_shapes() -> [&'static [usize]; 12] {
    [
        &[],
        &[1],
        &[5],
        &[0],
        &[0, 3],
        &[2, 0, 4],
        &[2, 1, 2, 3],
        &[1, 1, 1, 1],
        &[2, 1, 2, 1, 3],
        &[3, 0, 1, 0, 2],
        &[2, 1, 2, 1, 2, 1, 2, 1],
        &[1, 2, 3, 1, 1, 2, 1, 2],
    ]
}
