//! Elements of a pool, through the facade alone: custom plain data, and the numbers that the
//! features `half` and `complex` add.

use bytemuck::{NoUninit, Pod, Zeroable};
use pool_facade::prelude::*;

/// Plain data of a user: may be recycled.
#[derive(Clone, Copy, Debug, PartialEq, Zeroable, Pod)]
#[repr(C)]
struct Particle {
    position: [f32; 3],
    mass: f32,
    id: u64,
}

/// Some byte patterns are invalid: it is zeroed or written first.
#[derive(Clone, Copy, Debug, PartialEq, Zeroable, NoUninit)]
#[repr(C)]
struct Cell {
    alive: bool,
    age: u8,
}

/// All that an element is put through: each member of the family that it is allowed.
fn written_first<T: Element + PartialEq + std::fmt::Debug>(values: [T; 3]) {
    for _ in 0..3 {
        with_pool!(|scope| {
            // Bytes that are no value of `T`, in the block that comes next.
            scope.scope().acquire_filled(100, 0xFE_u8);
            let zeroed = scope.acquire_zeroed::<T, _>(2);
            assert_eq!(zeroed, [T::zeroed(); 2]);
            let filled = scope.acquire_filled(5, values[1]);
            let copied = scope.acquire_from(&values);
            let made = scope.acquire_with(3, |i| values[2 - i]);
            assert_eq!((filled[4], copied[2], made[2]), (values[1], values[2], values[0]));
            zeroed[1] = values[0];
            let mut array = scope.acquire_filled([2, 2], values[0]);
            array[[1, 0]] = values[2];
            assert_eq!(array.as_slice(), [values[0], values[0], values[2], values[0]]);
            assert_eq!(zeroed, [T::zeroed(), values[0]]);
        });
    }
    let mut pool = DynamicPool::<Cpu>::new(());
    let handle = pool.acquire_from(&values);
    assert_eq!(pool.get(handle).unwrap(), values);
}

/// Plain data may also have recycled contents.
fn recycled<T: PodElement + PartialEq + std::fmt::Debug>(values: [T; 3]) {
    written_first(values);
    with_pool!(|scope| {
        scope.scope().acquire_from(&values);
        assert_eq!(scope.acquire::<T, _>(3), values);
        let like = scope.acquire::<T, _>(values.len());
        assert_eq!(like.len(), 3);
        assert_eq!(scope.acquire::<T, _>([3, 2]).shape(), [3, 2]);
    });
}

fn particle(id: u64) -> Particle {
    Particle { position: [1.0, 2.0, 3.0], mass: 0.5, id }
}

#[test]
fn numbers() {
    recycled([1_u8, 2, 3]);
    recycled([-1_i16, 2, i16::MIN]);
    recycled([1_u128, u128::MAX, 3]);
    recycled([1.5_f32, -0.25, f32::MAX]);
    recycled([1.5_f64, -0.25, f64::MIN_POSITIVE]);
    recycled([[1_u8; 3], [2; 3], [3; 3]]);
    recycled([[[1.0_f32; 2]; 3], [[2.0; 2]; 3], [[3.0; 2]; 3]]);
}

#[test]
fn values_that_are_not_every_byte_pattern() {
    written_first([true, false, true]);
    written_first(['p', 'ö', '\u{10FFFF}']);
    written_first([
        Cell { alive: true, age: 1 },
        Cell { alive: false, age: 255 },
        Cell { alive: true, age: 0 },
    ]);
}

#[test]
fn plain_data_of_a_user() {
    recycled([particle(1), particle(2), particle(u64::MAX)]);
    let total: f32 = with_pool!(|scope| {
        let particles = scope.acquire_with([4, 5], |[i, j]| particle((i * 5 + j) as u64));
        assert_eq!(particles[[3, 4]].id, 19);
        particles.as_slice().iter().map(|particle| particle.mass).sum()
    });
    assert_eq!(total, 10.0);
}

#[cfg(feature = "half")]
#[test]
fn half_precision_numbers() {
    use pool_facade::half::{bf16, f16};

    recycled([f16::from_f32(1.5), f16::MAX, f16::from_f32(-0.25)]);
    recycled([bf16::from_f32(1.5), bf16::MAX, bf16::from_f32(-0.25)]);
    let mut pool = Pool::<Cpu>::with_config((), PoolConfig::new().poison(true)).unwrap();
    let scope = pool.scope();
    assert!(scope.acquire::<f16, _>(10).iter().all(|value| value.is_nan()));
    assert!(scope.acquire::<bf16, _>(10).iter().all(|value| value.is_nan()));
}

#[cfg(feature = "complex")]
#[test]
fn complex_numbers() {
    use pool_facade::num_complex::{Complex, Complex32, Complex64};

    recycled([Complex64::new(1.0, 2.0), Complex64::I, Complex64::new(-1.0, 0.5)]);
    recycled([Complex32::new(1.0, 2.0), Complex32::I, Complex32::new(-1.0, 0.5)]);
    recycled([Complex::new(1_u16, 2), Complex::new(3, 4), Complex::new(5, 6)]);
    let product = with_pool!(|scope| {
        let roots = scope.acquire_with(4, |i| Complex64::I.powu(u32::try_from(i).unwrap()));
        roots.iter().product::<Complex64>()
    });
    assert_eq!(product, Complex64::new(-1.0, 0.0));
}

#[cfg(all(feature = "half", feature = "complex"))]
#[test]
fn complex_numbers_of_half_precision() {
    use pool_facade::half::f16;
    use pool_facade::num_complex::Complex;

    let one = f16::from_f32(1.0);
    recycled([Complex::new(one, one); 3]);
}

#[cfg(feature = "ndarray")]
#[test]
fn arrays_of_a_user() {
    with_pool!(|scope| {
        let mut particles = scope.acquire_with([2, 3], |[i, _]| particle(i as u64)).into_ndarray();
        particles.swap_axes(0, 1);
        assert_eq!(particles.row(2).iter().map(|particle| particle.id).collect::<Vec<_>>(), [0, 1]);
        let cells = scope.acquire_zeroed::<Cell, _>([2, 2]).into_ndarray();
        assert!(cells.iter().all(|cell| !cell.alive));
    });
}
