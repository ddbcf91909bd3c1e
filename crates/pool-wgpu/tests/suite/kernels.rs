//! Kernels, their bindings, and their errors.

use pool_core::{LendView, Pool, PoolView, PoolViewMut};
use pool_wgpu::{Access, Kernel, Stream, Wgpu, WgpuError};

use crate::support::stream;

const AXPY: &str = "
struct Axpy { factor: f32, count: u32 }
@group(0) @binding(0) var<storage, read_write> y: array<f32>;
@group(0) @binding(1) var<storage, read> x: array<f32>;
@group(1) @binding(0) var<uniform> axpy: Axpy;
@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3<u32>) {
    if id.x < axpy.count { y[id.x] += axpy.factor * x[id.x]; }
}";

pub(crate) fn axpy(stream: &Stream) -> Kernel {
    stream.kernel(AXPY, "main", &[Access::ReadWrite, Access::Read]).unwrap()
}

pub(crate) fn axpy_parameters(factor: f32, count: u32) -> [u8; 8] {
    let mut bytes = [0; 8];
    bytes[..4].copy_from_slice(&factor.to_le_bytes());
    bytes[4..].copy_from_slice(&count.to_le_bytes());
    bytes
}

#[test]
fn a_steady_scope_creates_nothing() {
    let Some((stream, _quiet)) = stream() else { return };
    let kernel = axpy(&stream);
    let mut pool = Pool::<Wgpu>::new(stream.clone());
    let mut identities = None;
    let mut warm = None;
    for round in 0..10_000 {
        let scope = pool.scope();
        let mut y = scope.acquire::<f32, _>(256);
        let x = scope.acquire::<f32, _>(256);
        let z = scope.acquire::<f32, _>(256);
        let parameters = axpy_parameters(1.0, 256);
        stream
            .dispatch(
                &kernel,
                &[y.binding_mut().unwrap(), x.binding().unwrap()],
                &parameters,
                [4, 1, 1],
            )
            .unwrap();
        let now = [y.address(), x.address(), z.address()];
        assert_eq!(*identities.get_or_insert(now), now);
        let counts = stream.counts();
        if round == 1 {
            warm = Some((counts.buffers_created, counts.bind_groups_created));
        }
    }
    let counts = stream.counts();
    assert_eq!(warm, Some((counts.buffers_created, counts.bind_groups_created)));
    assert_eq!((counts.buffers_created, counts.bind_groups_created), (3, 1));
    assert_eq!((counts.dispatches, counts.staging_buffers_created), (10_000, 0));
    stream.submit().unwrap();
}

#[test]
fn work_is_done_in_the_order_in_which_it_is_recorded() {
    let Some((stream, _quiet)) = stream() else { return };
    let kernel = axpy(&stream);
    let mut pool = Pool::<Wgpu>::new(stream.clone());
    for round in 0_u8..3 {
        let scope = pool.scope();
        let mut y = scope.acquire_filled(100, 1.0_f32);
        let mut x = scope.acquire_from(&[f32::from(round); 100]);
        for _ in 0..1_500 {
            let bindings = [y.binding_mut().unwrap(), x.binding().unwrap()];
            stream.dispatch(&kernel, &bindings, &axpy_parameters(1.0, 100), [2, 1, 1]).unwrap();
        }
        let before = y.read().unwrap();
        x.fill_with_value(0.5).unwrap();
        let bindings = [y.binding_mut().unwrap(), x.binding().unwrap()];
        stream.dispatch(&kernel, &bindings, &axpy_parameters(2.0, 50), [1, 1, 1]).unwrap();
        y.try_part_zero();
        let expected = 1.0 + 1_500.0 * f32::from(round);
        assert_eq!(before.wait().unwrap(), [expected; 100]);
        let after = y.copy_to_vec().unwrap();
        assert_eq!((after[0], after[49], after[50]), (0.0, expected + 1.0, expected));
    }
}

/// Zeroes the first element.
trait PartZero {
    fn try_part_zero(&mut self);
}

impl PartZero for pool_wgpu::BufferViewMut<'_, f32> {
    fn try_part_zero(&mut self) {
        self.part_mut(..1).unwrap().fill_with_zeros().unwrap();
    }
}

#[test]
fn arguments_that_do_not_go_together_are_refused_before_wgpu_panics() {
    let Some((stream, _quiet)) = stream() else { return };
    let kernel = axpy(&stream);
    let mut pool = Pool::<Wgpu>::new(stream.clone());
    let scope = pool.scope();
    let mut y = scope.acquire_zeroed::<f32, _>(1_000);
    let x = scope.acquire_zeroed::<f32, _>(1_000);
    let kernel_name = || "main".to_owned();
    let parameters = axpy_parameters(1.0, 1);
    let dispatch = |bindings: &[_], parameters: &[u8], groups| {
        stream.dispatch(&kernel, bindings, parameters, groups).unwrap_err()
    };
    let (to, from) = (y.binding_mut().unwrap(), x.binding().unwrap());
    let count = WgpuError::BindingCount { kernel: kernel_name(), declared: 2, given: 1 };
    assert_eq!(dispatch(&[to], &parameters, [1; 3]), count);
    let read_only = WgpuError::ReadOnlyBinding { kernel: kernel_name(), binding: 0 };
    assert_eq!(dispatch(&[from, from], &parameters, [1; 3]), read_only);
    let shared = WgpuError::SharedBuffer { kernel: kernel_name(), first: 0, second: 1 };
    assert_eq!(dispatch(&[to, to], &parameters, [1; 3]), shared);
    let parameters_limit = WgpuError::TooManyParameters { bytes: 257, limit: 256 };
    assert_eq!(dispatch(&[to, from], &[0; 257], [1; 3]), parameters_limit);
    let limit = stream.device().limits().max_compute_workgroups_per_dimension;
    let groups = WgpuError::TooManyGroups { axis: 1, groups: limit + 1, limit };
    assert_eq!(dispatch(&[to, from], &parameters, [1, limit + 1, 1]), groups);
    let alignment = u64::from(stream.device().limits().min_storage_buffer_offset_alignment);
    let misaligned = WgpuError::Misaligned { offset: 4, alignment };
    assert_eq!(x.part(1..).unwrap().binding().unwrap_err(), misaligned);
    let mut bytes = scope.acquire_zeroed::<u8, _>(10);
    let uneven = bytes.part_mut(..5).unwrap().binding_mut().unwrap_err();
    assert_eq!(uneven, WgpuError::UnevenEnd { end: 5 });
    assert_eq!(bytes.binding_mut().unwrap().bytes(), 12);
    assert_eq!(x.part(..0).unwrap().binding().unwrap_err(), WgpuError::EmptyBinding);
    stream.submit().unwrap();
}

// A browser reports that later, to the device's error handler.
#[test]
#[cfg(not(target_arch = "wasm32"))]
fn a_kernel_that_does_not_compile_is_an_error_with_the_text_of_wgpu() {
    let Some((stream, _quiet)) = stream() else { return };
    for (source, accesses) in [
        ("fn main( {", &[][..]),
        (AXPY, &[Access::Read, Access::Read]),
        (AXPY, &[Access::ReadWrite]),
    ] {
        match stream.kernel(source, "main", accesses) {
            Err(WgpuError::Compilation { kernel, message }) => {
                assert_eq!(kernel, "main");
                assert!(!message.is_empty());
            }
            other => panic!("{other:?}"),
        }
    }
    assert!(stream.kernel(AXPY, "main", &[Access::ReadWrite, Access::Read]).is_ok());
}
