//! Views that are passed to cudarc, and the operations of views.

use cudarc::driver::{DeviceSlice, PushKernelArg};
use pool_core::{PoolView, PoolViewMut};
use pool_cuda::{DeviceViewMut, OnStream};

use crate::support::{in_many_orders, pool};

#[test]
#[ignore = "needs a process of its own: cargo xtask sim-test"]
fn cudarcs_functions_take_views() {
    in_many_orders(|device| {
        let mut pool = pool(device);
        let scope = pool.scope();
        let stream = scope.context().stream().clone();
        let mut view = scope.acquire::<u32, _>(100);
        assert_eq!((view.num_bytes(), DeviceSlice::stream(&view)), (400, &stream));
        stream.memcpy_htod(&[3; 100], &mut view).unwrap();
        assert_eq!(stream.clone_dtoh(&view).unwrap(), [3; 100]);
        let mut slice = stream.clone_dtod(&view).unwrap();
        stream.memset_zeros(&mut view).unwrap();
        stream.memcpy_dtod(&slice.slice(..50), &mut view).unwrap();
        let (before, after) = view.into_split_at(50).unwrap();
        assert_eq!(stream.clone_dtoh(&before).unwrap(), [3; 50]);
        assert_eq!(stream.clone_dtoh(&after.as_view()).unwrap(), [0; 50]);
        stream.memcpy_dtod(&after, &mut slice).unwrap();
        assert_eq!(stream.clone_dtoh(&slice).unwrap()[..50], [0; 50]);
    });
}

#[test]
#[ignore = "needs a process of its own: cargo xtask sim-test"]
fn parts_and_shapes() {
    in_many_orders(|device| {
        let mut pool = pool(device);
        let scope = pool.scope();
        let numbers: Vec<u16> = (0..24).collect();
        let matrix = scope.acquire_from(&numbers).reshape([4, 6]);
        assert_eq!((matrix.shape(), matrix.strides()), (&[4, 6][..], [6, 1]));
        let (top, bottom) = matrix.split_at(1);
        assert_eq!(top.into_view().copy_to_vec().unwrap(), numbers[..6]);
        let (left, mut right) = bottom.into_view().into_split_at(6).unwrap();
        assert_eq!(left.copy_to_vec().unwrap(), numbers[6..12]);
        right.reborrow().fill_with_value(9).unwrap();
        assert_eq!(right.into_view().copy_to_vec().unwrap(), [9; 12]);
        let dynamic = scope.acquire_zeroed::<f32, _>(&[2, 3, 4][..]);
        assert_eq!((dynamic.shape(), dynamic.strides()), (&[2, 3, 4][..], &[12, 4, 1][..]));
        let empty = scope.acquire::<f32, _>([0, 5]).into_view();
        assert_eq!((empty.len(), empty.address()), (0, 0));
        assert!(empty.copy_to_vec().unwrap().is_empty());
        let none: DeviceViewMut<'_, [f32; 0]> = scope.acquire(7);
        assert_eq!(none.copy_to_vec().unwrap().len(), 7);
    });
}

/// Pushes every kind of argument to cudarc's builder.
#[expect(dead_code, reason = "compiled, never run")]
fn arguments<'a>(
    builder: &mut cudarc::driver::LaunchArgs<'a>,
    view: &'a mut DeviceViewMut<'_, f32>,
    other: &'a OnStream<'_>,
    count: &'a u32,
) {
    builder.arg(view).arg(other).arg(count);
}
