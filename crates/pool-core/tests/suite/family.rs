//! Every member of the acquire family, with and without a shape, and the methods of views.

use pool_core::{NdView, PoolView, ShapeError};

use crate::support::{address, heap_pool, panic_text};

#[test]
fn one_dimensional_family_and_its_twins() {
    let (mut pool, _) = heap_pool();
    pool.scope().acquire::<u64, _>(50).fill(7);
    let scope = pool.scope();
    let recycled = scope.acquire::<u64, _>(50);
    assert_eq!(recycled, [7; 50], "whatever a former use left behind");
    let zeroed = scope.acquire_zeroed::<f64, _>(3);
    let filled = scope.acquire_filled(2, 'x');
    let copied = scope.acquire_from(&[1_u16, 2, 3]);
    let made = scope.acquire_with(4, |index| 1.5 * index as f64);
    assert_eq!(zeroed, [0.0; 3]);
    assert_eq!(filled, ['x', 'x']);
    assert_eq!(copied, [1, 2, 3]);
    assert_eq!(made, [0.0, 1.5, 3.0, 4.5]);
    assert_eq!(scope.acquire::<u8, _>(made.len()).len(), 4);
    assert_eq!(scope.acquire::<u8, _>(9).len(), 9);
    assert_eq!(scope.active_slots(), 7);

    assert_eq!(scope.try_acquire::<u64, _>(2).unwrap().len(), 2);
    assert_eq!(scope.try_acquire_zeroed::<f64, _>(3).unwrap(), [0.0; 3]);
    assert_eq!(scope.try_acquire_filled(2, 'y').unwrap(), ['y', 'y']);
    assert_eq!(scope.try_acquire_from(&*copied).unwrap(), [1, 2, 3]);
    assert_eq!(scope.try_acquire_with(3, |index| index as u64).unwrap(), [0, 1, 2]);
    assert_eq!(scope.try_acquire::<u8, _>(made.len()).unwrap().len(), 4);
    assert_eq!(scope.active_slots(), 13);
}

#[test]
fn family_with_shapes_and_its_twins() {
    let (mut pool, _) = heap_pool();
    pool.scope().acquire::<u64, _>(50).fill(7);
    let scope = pool.scope();
    assert_eq!(scope.acquire::<u64, _>([5, 10]).as_slice(), [7; 50]);
    assert_eq!(scope.acquire_zeroed::<u64, _>((2, 3)).as_slice(), [0; 6]);
    assert_eq!(scope.acquire_filled([2, 1, 2], 5_u64).as_slice(), [5; 4]);
    let copied = scope.acquire_from(&[1_u64, 2, 3, 4]).reshape([2, 2]);
    assert_eq!((copied[[0, 1]], copied[[1, 0]]), (2, 3));
    let made = scope.acquire_with([2, 3], |[row, column]| 10 * row as u64 + column as u64);
    assert_eq!(made.as_slice(), [0, 1, 2, 10, 11, 12]);
    let like = scope.acquire::<f32, _>(made.dims());
    assert_eq!((like.dims(), like.len()), ([2, 3], 6));
    let like_dynamic = scope.acquire::<f32, _>(copied.shape());
    assert_eq!(like_dynamic.shape(), [2, 2]);

    assert_eq!(scope.try_acquire::<u64, _>([4]).unwrap().len(), 4);
    assert_eq!(scope.try_acquire_zeroed::<u64, _>([1, 1, 1, 2]).unwrap().as_slice(), [0; 2]);
    assert_eq!(scope.try_acquire_filled([1, 1, 1, 1, 3], 6_u64).unwrap().as_slice(), [6; 3]);
    let six = scope.try_acquire_from(&[8_u64, 9]).unwrap().reshape([1, 1, 1, 1, 1, 2]);
    assert_eq!((six.rank(), six[[0, 0, 0, 0, 0, 1]]), (6, 9));
    let made_again = scope.try_acquire_with([3], |[index]| index as u64).unwrap();
    assert_eq!(made_again.as_slice(), [0, 1, 2]);
    assert_eq!(scope.try_acquire::<u8, _>(made_again.dims()).unwrap().shape(), [3]);
    assert_eq!(scope.active_slots(), 13);
}

#[test]
fn index_get_and_bounds() {
    let (mut pool, _) = heap_pool();
    let scope = pool.scope();
    let mut array = scope.acquire_with([2, 3, 4], |[a, b, c]| (100 * a + 10 * b + c) as u64);
    assert_eq!((array[[1, 2, 3]], array[[0, 1, 0]]), (123, 10));
    array[[1, 0, 2]] = 5;
    assert_eq!(array.get(&[1, 0, 2]), Some(&5));
    *array.get_mut(&[0, 0, 0]).unwrap() = 6;
    assert_eq!((array.as_slice()[0], array.as_slice()[14]), (6, 5));
    for outside in [[2, 0, 0], [0, 3, 0], [0, 0, 4], [0, 0, usize::MAX]] {
        assert_eq!(array.get(&outside), None);
        assert_eq!(array.get_mut(&outside), None);
        let text = panic_text(|| array[outside]);
        assert_eq!(
            text,
            format!("index {outside:?} is out of bounds for an array of shape [2, 3, 4]")
        );
        panic_text(|| array[outside] = 1);
    }
    assert_eq!(array.get(&[1, 2]), None, "another rank");
    assert_eq!(array.strides(), [12, 4, 1]);
    assert_eq!((array.rank(), array.len(), array.is_empty()), (3, 24, false));
}

#[test]
fn reshape_and_split_keep_the_memory() {
    let (mut pool, _) = heap_pool();
    let scope = pool.scope();
    let view = scope.acquire_with(12, |index| index as u64);
    let start = address(view);
    let matrix = view.reshape([3, 4]);
    assert_eq!(matrix[[2, 1]], 9);
    let cube = matrix.reshape([2, 3, 2]);
    assert_eq!((cube[[1, 1, 1]], address(cube.as_slice())), (9, start));
    let error = cube.try_reshape([5, 2]).unwrap_err();
    assert_eq!(error, ShapeError::LengthMismatch { asked: 10, length: 12 });

    let matrix = scope.acquire_with([4, 3], |[row, column]| (10 * row + column) as u64);
    let (mut top, mut bottom) = matrix.split_at(1);
    assert_eq!((top.shape(), bottom.shape()), (&[1, 3][..], &[3, 3][..]));
    top[[0, 2]] = 99;
    assert_eq!(bottom[[0, 0]], 10);
    bottom[[2, 2]] = 98;
    let (all, none) = bottom.split_at(3);
    assert_eq!((all.len(), none.len(), none.shape()), (9, 0, &[0, 3][..]));
    let error = all.try_split_at(4).unwrap_err();
    assert_eq!(error, ShapeError::SplitOutOfRange { asked: 4, extent: 3 });

    let empty = scope.acquire::<u64, _>([3, 0, usize::MAX / 64]);
    let (left, right) = empty.split_at(2);
    assert_eq!((left.shape()[0], right.shape()[0], left.len(), right.len()), (2, 1, 0, 0));
    assert_eq!(left.strides(), [0, 0, 0]);
}

#[test]
fn views_of_one_dimension() {
    let (mut pool, _) = heap_pool();
    let scope = pool.scope();
    let view = scope.acquire_filled(5, 1_u64);
    assert_eq!((PoolView::len(&view), PoolView::is_empty(&view)), (5, false));
    let (front, back) = view.into_split_at(2).unwrap();
    front[1] = 2;
    back[0] = 3;
    assert_eq!((&*front, &*back), (&[1, 2][..], &[3, 1, 1][..]));
    let shared: &[u64] = back;
    let (left, right) = PoolView::into_split_at(shared, 3).unwrap();
    assert_eq!((left.len(), right.len()), (3, 0));
    assert!(PoolView::into_split_at(shared, 4).is_err());
    let array = NdView::new(shared, [3, 1]).unwrap();
    let copy = array;
    assert_eq!(array[[0, 0]], copy[[0, 0]]);
    assert_eq!(array.into_parts().1, [3, 1]);
    assert!(NdView::new(shared, [usize::MAX, 2]).is_err());
}
