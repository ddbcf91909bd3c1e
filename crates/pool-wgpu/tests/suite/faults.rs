//! What is told of a lost device, and of memory that is refused.

use pool_core::{Pool, PoolError, PoolView, PoolViewMut};
use pool_wgpu::{Wgpu, WgpuError, wgpu};

use crate::support::own_stream;

#[test]
fn a_lost_device_is_told_by_every_call() {
    let Some((stream, _quiet)) = own_stream(wgpu::Limits::default()) else { return };
    let mut pool = Pool::<Wgpu>::new(stream.clone());
    let scope = pool.scope();
    let mut view = scope.acquire_filled(10, 1_u32);
    stream.device().destroy();
    assert_eq!(stream.submit(), Err(WgpuError::DeviceLost));
    assert!(stream.is_lost());
    assert_eq!(view.try_fill(2), Err(WgpuError::DeviceLost));
    assert_eq!(view.try_to_vec(), Err(WgpuError::DeviceLost));
    assert!(matches!(
        scope.try_acquire::<u8>(1_000),
        Err(PoolError::OutOfMemory { source: WgpuError::DeviceLost, .. })
    ));
    assert_eq!(stream.record(|_| ()), Err(WgpuError::DeviceLost));
}
