//! Elements of any type that is `Copy` in host memory, small blocks and mapped ones, and as `ndarray` views.

use pool_core::Pool;
use pool_cpu::Cpu;

#[cfg(feature = "ndarray")]
#[test]
fn arrays_of_any_element_become_ndarray_views() {
    use pool_core::PoolView;
    use pool_cpu::IntoNdarray;

    let mut pool = Pool::<Cpu>::new(());
    for _ in 0..2 {
        let mut scope = pool.scope();
        let pairs = scope.keep(|inner| {
            let names = inner.acquire_from_iter("a b c".split(' '));
            inner.acquire_with([2, 3], |[row, column]| (row, names[column].len())).into_view()
        });
        let mut view = pairs.reshape([2, 3]).into_ndarray();
        view.swap_axes(0, 1);
        assert_eq!((view.shape(), view[[2, 1]]), (&[3, 2][..], (1, 1)));
        let mut room = scope.acquire_uninit::<f64, _>([2, 2]).into_ndarray();
        room.fill(std::mem::MaybeUninit::new(0.5));
        // SAFETY: every element was written.
        let sum = unsafe { room.assume_init() }.sum();
        assert_eq!(sum.to_bits(), 2.0_f64.to_bits());
    }
}

#[test]
fn a_marked_block_that_was_mapped_is_zeroed_as_far_as_it_was_marked() {
    let mut pool = Pool::<Cpu>::new(());
    let count = if cfg!(miri) { 100 } else { 600_000 };
    for _ in 0..2 {
        pool.scope().acquire_with(count, |_| (0xFF_u8, u64::MAX));
        let bytes = count * size_of::<(u8, u64)>();
        assert!(pool.scope().acquire::<u8, _>(bytes) == vec![0; bytes]);
        let page = pool.scope().scratch(10_000, 4096).as_ptr();
        assert_eq!(page.addr() % 4096, 0);
    }
}
