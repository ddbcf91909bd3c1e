//! Foreign tensors: imports, and each reason for a refusal. The deleter always runs once.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use dlpark::ffi::{DLDataType, DLDataTypeCode, DLDevice, DLDeviceType, DLPackVersion};
use dlpark::{DlpackFlags, tensor};
use pool_dlpack::{HostTensor, TensorError, dlpark};

use crate::foreign::Foreign;

fn six() -> Foreign<f32> {
    Foreign::new((0..6_u8).map(f32::from).collect(), DLDataType::F32)
}

/// Imports a tensor, and checks that its deleter has run once.
fn refusal(tensor: Foreign<f32>) -> TensorError {
    let deleted = Arc::clone(&tensor.deleted);
    // SAFETY: nothing writes to it, and a false description is refused.
    let refused = unsafe { HostTensor::<f32>::import(tensor.into_tensor()) }.unwrap_err();
    assert_eq!(deleted.load(Ordering::Relaxed), 1, "{refused}");
    refused
}

#[test]
fn a_foreign_tensor_is_a_slice_until_it_is_dropped() {
    let foreign = six().shape(&[2, 3], &[3, 1]);
    let (deleted, address) = (Arc::clone(&foreign.deleted), foreign.elements.as_ptr());
    // SAFETY: nothing else uses it.
    let mut tensor = unsafe { HostTensor::<f32>::import(foreign.into_tensor()) }.unwrap();
    assert_eq!(tensor.as_ptr(), address, "copied");
    assert_eq!(tensor.shape(), [2, 3]);
    assert_eq!(*tensor, [0.0, 1.0, 2.0, 3.0, 4.0, 5.0]);
    // SAFETY: as above.
    unsafe { tensor.as_mut_slice() }.unwrap()[0] = 9.0;
    assert_eq!(tensor[0], 9.0);
    assert_eq!(format!("{tensor:?}"), "HostTensor { shape: [2, 3], is_read_only: false, .. }");
    assert_eq!(deleted.load(Ordering::Relaxed), 0);
    std::thread::spawn(move || drop(tensor)).join().unwrap();
    assert_eq!(deleted.load(Ordering::Relaxed), 1);
}

#[test]
fn a_byte_offset_is_added() {
    let foreign = Foreign { byte_offset: 8, ..six() }.shape(&[2, 2], &[2, 1]);
    // SAFETY: nothing writes to it.
    let tensor = unsafe { HostTensor::<f32>::import(foreign.into_tensor()) }.unwrap();
    assert_eq!(*tensor, [2.0, 3.0, 4.0, 5.0]);
}

#[test]
fn axes_of_length_one_have_any_stride_and_strides_may_be_missing_before_1_2() {
    for (shape, strides) in [(vec![1, 6, 1], vec![-7, 1, 99]), (vec![1, 1, 6], vec![0, 0, 1])] {
        // SAFETY: nothing writes to it.
        let tensor =
            unsafe { HostTensor::<f32>::import(six().shape(&shape, &strides).into_tensor()) };
        assert_eq!(tensor.unwrap().len(), 6);
    }
    let mut old = six().shape(&[3, 2], &[]);
    old.strides = None;
    old.version = DLPackVersion { major: 1, minor: 1 };
    // SAFETY: as above.
    let tensor = unsafe { HostTensor::<f32>::import(old.into_tensor()) }.unwrap();
    assert_eq!(tensor.shape(), [3, 2]);
    let mut new = six();
    new.strides = None;
    assert!(matches!(
        refusal(new),
        TensorError::Malformed(tensor::Error::MissingVersionedStrides { minor: 3, ndim: 1, .. })
    ));
}

#[test]
fn other_elements_are_refused() {
    let refused = refusal(Foreign { data_type: DLDataType::F64, ..six() });
    assert_eq!(
        refused.to_string(),
        "the tensor has elements of float64, but float32 was requested"
    );
    let lanes = DLDataType::new(DLDataTypeCode::FLOAT, 32, 2);
    let refused = refusal(Foreign { data_type: lanes, ..six() });
    assert_eq!(
        refused.to_string(),
        "the tensor has elements of float32x2, but float32 was requested"
    );
    let fp8 = DLDataType::new(DLDataTypeCode(8), 8, 1);
    let refused = refusal(Foreign { data_type: fp8, ..six() });
    assert_eq!(
        refused.to_string(),
        "the tensor has elements of type 8 of 8 bits, 1 lanes, but float32 was requested"
    );
    for same_size in [DLDataType::I32, DLDataType::U32] {
        assert!(matches!(
            refusal(Foreign { data_type: same_size, ..six() }),
            TensorError::DataType { expected: DLDataType::F32, .. }
        ));
    }
}

#[test]
fn memory_elsewhere_is_refused() {
    let refused = refusal(Foreign { device: DLDevice::cuda(3), ..six() });
    assert_eq!(
        refused.to_string(),
        "the tensor is on device 3 of type 2, but device 0 of type 1 was requested (type 1 is the \
         host, and type 2 is CUDA)"
    );
    let pinned = DLDevice { device_type: DLDeviceType::CUDAHOST, device_id: 0 };
    assert!(matches!(
        refusal(Foreign { device: pinned, ..six() }),
        TensorError::Device { found, .. } if found == pinned
    ));
}

#[test]
fn gaps_other_orders_and_reversed_axes_are_refused() {
    for (shape, strides, axis, expected, found) in [
        ([2, 3], [1, 2], 1, 1, 2),   // column-major
        ([2, 2], [3, 1], 0, 2, 3),   // rows with gaps
        ([2, 3], [0, 1], 0, 3, 0),   // broadcast
        ([2, 3], [3, -1], 1, 1, -1), // reversed
    ] {
        let refused = refusal(six().shape(&shape, &strides));
        let TensorError::Strides { axis: a, expected: e, found: f } = refused else {
            panic!("{refused}")
        };
        assert_eq!((a, e, f), (axis, expected, found));
    }
    let refused = refusal(six().shape(&[3], &[2]));
    assert_eq!(
        refused.to_string(),
        "axis 0 of the tensor has stride 2 instead of 1: copy the tensor into row-major order first"
    );
}

#[test]
fn an_address_between_elements_is_refused() {
    let refused = refusal(Foreign { byte_offset: 2, ..six() }.shape(&[2], &[1]));
    assert!(matches!(refused, TensorError::Misaligned { align: 4, address } if address % 4 == 2));
}

#[test]
fn missing_memory_and_impossible_sizes_are_refused() {
    let refused = refusal(Foreign { has_memory: false, ..six() });
    assert_eq!(refused.to_string(), "the tensor has 6 elements, but its data pointer is null");
    let refused = refusal(Foreign { byte_offset: u64::MAX - 3, ..six() });
    assert!(matches!(
        refused,
        TensorError::TooLarge { elements: 6, byte_offset: 0xFFFF_FFFF_FFFF_FFFC }
    ));
    // The bytes fit a usize, but no address space.
    let half = 1 << 61;
    let refused = refusal(six().shape(&[half], &[1]));
    assert!(
        matches!(refused, TensorError::TooLarge { .. } | TensorError::Malformed(_)),
        "{refused}"
    );
    let third = i64::MAX / 9;
    let refused = refusal(six().shape(&[third], &[1]));
    assert!(
        matches!(refused, TensorError::TooLarge { .. } | TensorError::Malformed(_)),
        "{refused}"
    );
}

#[test]
fn malformed_descriptions_are_refused() {
    let negative = refusal(six().shape(&[-6], &[1]));
    assert!(matches!(
        negative,
        TensorError::Malformed(tensor::Error::NegativeDimension { axis: 0, value: -6 })
    ));
    let huge = refusal(six().shape(&[i64::MAX, i64::MAX], &[1, 1]));
    assert!(matches!(huge, TensorError::Malformed(_)));
    let no_bits = DLDataType::new(DLDataTypeCode::FLOAT, 0, 1);
    assert!(matches!(
        refusal(Foreign { data_type: no_bits, ..six() }),
        TensorError::Malformed(tensor::Error::ZeroDtypeBits)
    ));
}

#[test]
fn empty_tensors_need_neither_memory_nor_strides_nor_alignment() {
    let empty = Foreign { has_memory: false, byte_offset: 3, ..six() }.shape(&[4, 0], &[9, 9]);
    // SAFETY: nothing writes to it.
    let mut tensor = unsafe { HostTensor::<f32>::import(empty.into_tensor()) }.unwrap();
    assert_eq!((tensor.shape(), tensor.len()), ([4, 0].as_slice(), 0));
    // SAFETY: as above.
    assert!(unsafe { tensor.as_mut_slice() }.unwrap().is_empty());
}

#[test]
fn read_only_tensors_are_read() {
    let foreign = Foreign { flags: DlpackFlags::READ_ONLY, ..six() };
    // SAFETY: nothing writes to it.
    let mut tensor = unsafe { HostTensor::<f32>::import(foreign.into_tensor()) }.unwrap();
    assert_eq!(tensor[5], 5.0);
    // SAFETY: refused.
    let refused = unsafe { tensor.as_mut_slice() }.unwrap_err();
    assert_eq!(
        refused.to_string(),
        "the tensor is read-only and cannot be borrowed for writing: borrow it for reading, or \
         copy it"
    );
}
