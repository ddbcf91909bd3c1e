//! Random descriptions beside a naive model: the import takes exactly the tensors whose elements the model finds
//! adjacent and in order, and the slice has exactly these.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use dlpark::ffi::DLDataType;
use pool_core::SharedPool;
use pool_cpu::Cpu;
use pool_dlpack::dlpark::versioned::Dlpack;
use pool_dlpack::{HostTensor, dlpark, export};
use proptest::collection::vec;
use proptest::prelude::*;

use crate::foreign::Foreign;

/// The elements in each tensor's memory.
const BEHIND: usize = 64;

fn config() -> ProptestConfig {
    let cases = std::env::var("POOL_TEST_CASES").ok().and_then(|cases| cases.parse().ok());
    let cases = cases.unwrap_or(if cfg!(miri) { 4 } else { 512 });
    ProptestConfig { cases, failure_persistence: None, ..ProptestConfig::default() }
}

/// Counts the places of a tensor's elements in row-major order of its indices.
fn places(shape: &[i64], strides: &[i64]) -> Vec<i64> {
    let mut places = vec![0];
    for (length, stride) in shape.iter().zip(strides) {
        places = places
            .iter()
            .flat_map(|place| (0..*length).map(move |index| place + index * stride))
            .collect();
    }
    places
}

/// Strides of row-major order; sometimes one is changed.
fn shapes() -> impl Strategy<Value = (Vec<i64>, Vec<i64>)> {
    let axes = vec(0_i64..4, 0..4);
    (axes, 0_usize..8, -3_i64..8).prop_map(|(shape, axis, stride)| {
        let mut strides = vec![1; shape.len()];
        for index in (1..shape.len()).rev() {
            strides[index - 1] = strides[index] * shape[index].max(1);
        }
        if let Some(changed) = strides.get_mut(axis) {
            *changed = stride;
        }
        (shape, strides)
    })
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn an_import_takes_what_is_adjacent((shape, strides) in shapes(), start in 0_usize..8) {
        let elements: Vec<u16> = (0..BEHIND).map(|i| u16::try_from(i).unwrap()).collect();
        let places = places(&shape, &strides);
        let is_adjacent = places.iter().zip(0..).all(|(&place, index)| place == index);
        let foreign = Foreign::new(elements, DLDataType::U16);
        let foreign = Foreign { byte_offset: 2 * start as u64, ..foreign }.shape(&shape, &strides);
        let deleted = Arc::clone(&foreign.deleted);
        // SAFETY: nothing writes to it; adjacent elements lie in those behind it.
        let tensor = unsafe { HostTensor::<u16>::import(foreign.into_tensor()) };
        prop_assert_eq!(tensor.is_ok(), is_adjacent, "{:?} {:?}", shape, strides);
        if let Ok(tensor) = tensor {
            let found: Vec<usize> = tensor.iter().map(|&value| usize::from(value)).collect();
            let expected: Vec<usize> = (start..start + places.len()).collect();
            prop_assert_eq!(found, expected);
            prop_assert_eq!(deleted.load(Ordering::Relaxed), 0);
        }
        prop_assert_eq!(deleted.load(Ordering::Relaxed), 1);
    }

    #[test]
    fn a_round_trip_keeps_address_axes_and_values(shape in vec(0_usize..5, 0..4), again in 1_usize..4) {
        let pool = SharedPool::<Cpu>::default();
        let count: usize = shape.iter().product();
        for round in 0..again {
            let value = |i: usize| i64::try_from(i + round).unwrap();
            let array = pool.take_with(count, value);
            let address = array.as_ptr();
            let tensor: Dlpack = export(array, &shape).unwrap();
            // SAFETY: nothing writes to it.
            let tensor = unsafe { HostTensor::<i64>::import(tensor) }.unwrap();
            prop_assert_eq!(tensor.shape(), shape.as_slice());
            prop_assert!(tensor.iter().enumerate().all(|(i, &found)| found == value(i)));
            prop_assert!(count == 0 || tensor.as_ptr() == address);
            prop_assert_eq!(pool.stats().active_slots, 1);
        }
        prop_assert_eq!(pool.stats().active_slots, 0);
        prop_assert!(pool.stats().growths <= 1);
    }
}
