//! Uninitialised memory: its contents never show in recycled memory, and scratch memory has the
//! requested alignment.

use std::mem::{MaybeUninit, align_of};

use pool_conformance::{HeapBackend, Refusal};
use pool_core::{PoolBackend, PoolError, Scope};

use super::Heap;
use crate::support::{HasSlots, assert_active, panic_text, pool_of, rounds};

/// Leaves `bytes` uninitialised bytes, and others, in the scope's next slot.
fn spoil(scope: &Scope<'_, Heap>, bytes: usize) {
    let room = scope.acquire_uninit::<u8, _>(bytes);
    for (index, byte) in room.iter_mut().enumerate() {
        *byte = if index % 2 == 0 { MaybeUninit::uninit() } else { MaybeUninit::new(0xEE) };
    }
}

#[test]
fn what_was_left_uninitialised_is_zeroed_before_it_is_read() {
    let (mut pool, _) = pool_of::<Heap>();
    for bytes in [1, 8, 100, 37] {
        spoil(&pool.scope(), bytes);
        spoil(&pool.scope(), 3);
        assert_eq!(pool.scope().acquire_filled(2, 9_u8), [9; 2]);
        assert_eq!(pool.scope().acquire::<u8, _>(bytes), vec![0; bytes]);
        pool.scope().acquire::<u8, _>(bytes).fill(0xDD);
    }
}

#[test]
fn room_is_written_and_read_as_any_type() {
    let (mut pool, _) = pool_of::<Heap>();
    let scope = pool.scope();
    let text = String::from("text");
    let room = scope.acquire_uninit::<Option<&str>, _>(3);
    assert_eq!(room[1].write(Some(&text)), &Some("text"));
    let mut array = scope.acquire_uninit::<(u8, u64), _>([2, 2]);
    assert_eq!(array[[1, 1]].write((1, 2)), &mut (1, 2));
    assert_eq!((array.shape(), array.len()), (&[2, 2][..], 4));
    assert!(scope.acquire_uninit::<u64, _>(0).is_empty());
    assert_eq!(scope.acquire_uninit::<(), _>(7).len(), 7);
    assert_active::<Heap>(scope.active_slots(), 4);
}

#[test]
fn scratch_has_the_alignment_asked_for() {
    let (mut pool, _) = pool_of::<Heap>();
    for align in (0..=13).step_by(rounds(1, 4)).map(|power| 1_usize << power) {
        for bytes in [0, 1, 63, 64, 1_000] {
            let scope = pool.scope();
            let scratch = scope.scratch(bytes, align);
            assert_eq!((scratch.len(), scratch.as_ptr().addr() % align), (bytes, 0), "{align}");
            scratch.fill(MaybeUninit::uninit());
            if let Some(last) = scratch.last_mut() {
                last.write(1);
            }
            assert_active::<Heap>(scope.active_slots(), 1);
        }
    }
    let scope = pool.scope();
    let bytes = 1_000 + rounds(8_192, 4_096) - HeapBackend::ALIGN;
    assert_eq!(scope.acquire::<u8, _>(bytes), vec![0; bytes], "the slack was marked too");
}

/// Uses memory as a stack of temporaries does: divides aligned arrays from its front.
#[test]
fn scratch_can_be_divided_up() {
    let (mut pool, _) = pool_of::<Heap>();
    for _ in 0..2 {
        let scope = pool.scope();
        let mut rest = scope.scratch(1_024, align_of::<u64>());
        for length in [3, 5, 11_usize] {
            let (taken, after) = std::mem::take(&mut rest).split_at_mut(length * 8);
            rest = after;
            // SAFETY: a `MaybeUninit` has no value to be invalid.
            let (before, words, behind) = unsafe { taken.align_to_mut::<MaybeUninit<u64>>() };
            assert!(before.is_empty() && behind.is_empty() && words.len() == length);
            words.iter_mut().for_each(|word| _ = word.write(7));
        }
    }
    assert_eq!(pool.stats().growths, if Heap::HAS_SLOTS { 1 } else { 2 }, "a stack is merged once");
}

#[test]
fn errors_are_typed_and_take_no_slot() {
    let (mut pool, ledger) = pool_of::<Heap>();
    let scope = pool.scope();
    for asked in [0, 3, 24, usize::MAX] {
        let error = scope.try_scratch(8, asked).unwrap_err();
        assert_eq!(error, PoolError::Alignment { asked });
        assert!(error.to_string().contains(&asked.to_string()), "{error}");
    }
    let too_long = PoolError::SizeOverflow { elements: usize::MAX, element_size: 1 };
    assert_eq!(scope.try_scratch(usize::MAX, 128).unwrap_err(), too_long);
    assert_eq!(scope.try_scratch(usize::MAX, 1).unwrap_err(), too_long);
    assert!(scope.try_scratch(1, 1 << (usize::BITS - 1)).is_err());
    assert!(scope.try_acquire_uninit::<u8, _>([usize::MAX, 2]).is_err());
    ledger.refuse(Refusal::From(0));
    assert!(matches!(scope.try_acquire_uninit::<u8, _>(8), Err(PoolError::OutOfMemory { .. })));
    assert!(matches!(scope.try_scratch(8, 4096), Err(PoolError::OutOfMemory { .. })));
    assert_active::<Heap>(scope.active_slots(), 0);
    assert_eq!(
        panic_text(|| scope.scratch(1, 3)),
        PoolError::<()>::Alignment { asked: 3 }.to_string()
    );
}
