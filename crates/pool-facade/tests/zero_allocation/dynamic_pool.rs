//! The dynamic pool: handles, checkpoints and rewinds, and lexical scopes above them.

use pool_facade::prelude::*;

use crate::steady::never_allocates;

#[test]
fn checkpoints_and_rewinds() {
    let mut pool = DynamicPool::<Cpu>::new(());
    never_allocates(|| {
        let root = pool.acquire_filled(10, 1_u64);
        let depth = pool.checkpoint();
        for turn in 0..5_u64 {
            let inner = pool.checkpoint();
            let [value, other] = [pool.acquire_zeroed::<u64>(20), pool.acquire_filled(20, turn)];
            let views = pool.get_disjoint_mut([root, value, other]).unwrap();
            views[0][0] += views[1][19] + views[2][19];
            assert_eq!((inner, pool.depth()), (depth + 1, depth + 1));
            pool.rewind();
            assert!(pool.get(value).is_err());
        }
        pool.checkpoint();
        pool.checkpoint();
        let copied = pool.acquire_from(&[1_u8, 2, 3]);
        assert_eq!(pool.get(copied).unwrap()[2], 3);
        pool.rewind_to(depth).unwrap();
        assert!(pool.rewind_to(depth + 5).is_err());
        assert_eq!(pool.get(root).unwrap()[0], 11);
        pool.get_mut(root).unwrap()[0] = 0;
        pool.reset();
        assert_eq!(pool.active_slots(), 0);
    });
    assert_eq!(pool.stats().growths, 3);
}

#[test]
fn scopes_above_handles() {
    let mut pool = DynamicPool::<Cpu>::new(());
    never_allocates(|| {
        let kept = pool.acquire_filled(16, 2.0_f64);
        pool.checkpoint();
        {
            let (mut handles, mut scope) = pool.split();
            let scratch = scope.acquire_from(handles.get(kept).unwrap());
            let inner = scope.scope();
            let mut matrix = inner.acquire_from(scratch).reshape([4, 4]);
            matrix[[3, 3]] = 8.0;
            let dynamic = inner.acquire_array_dyn::<f64>(&[2; 8]);
            dynamic.as_slice_mut().unwrap().fill(1.0);
            handles.get_mut(kept).unwrap()[0] = matrix.into_ndarray().sum() + dynamic[[0; 8]];
        }
        assert_eq!(pool.get(kept).unwrap()[0], 39.0);
        pool.scope().acquire::<u8, _>(1000);
        pool.rewind();
        pool.rewind();
    });
}

/// An interpreter's loop: the number of handles and the depth change from pass to pass.
#[test]
fn a_tape_of_changing_length() {
    let mut pool = DynamicPool::<Cpu>::new(());
    let mut tape: Vec<Handle<u32>> = Vec::with_capacity(100);
    let mut pass = 0_usize;
    never_allocates(|| {
        // The longest first, so that every slot and checkpoint is there.
        let length = if pass == 0 { 100 } else { pass * 37 % 100 };
        for i in 0..length {
            if i % 7 == 0 {
                pool.checkpoint();
            }
            tape.push(pool.acquire_filled(i % 10 + if pass == 0 { 10 } else { 1 }, 1));
        }
        let sum = tape.iter().map(|&handle| pool.get(handle).unwrap()[0] as usize).sum::<usize>();
        assert_eq!(sum, length);
        tape.clear();
        pool.reset();
        pass += 1;
    });
}
