//! Arrays that become tensors: the consumer's view of them, and the return of the memory.

use std::error::Error;
use std::sync::Arc;
use std::thread;

use dlpark::ffi::{DLDataType, DLDevice, DLManagedTensor, DLManagedTensorVersioned};
use dlpark::legacy;
use dlpark::versioned::Dlpack;
use dlpark::{DlpackFlags, ManagedTensorBase};
use pool_core::{Owned, PoolConfig, SharedPool};
use pool_cpu::Cpu;
use pool_dlpack::{HostTensor, TensorElement, TensorError, dlpark, export, export_shared};

fn pool() -> SharedPool<Cpu> {
    SharedPool::default()
}

/// Returns the tensor's fields as a consumer in C reads them.
fn raw(tensor: &Dlpack) -> &DLManagedTensorVersioned {
    // SAFETY: the tensor lives as long as it is borrowed, and nothing writes to its description.
    unsafe { &*tensor.as_ptr() }
}

#[test]
fn a_tensor_has_the_array_and_its_axes() {
    let pool = pool();
    let array = pool.take_with(24, |i| i as f32);
    let address = array.as_ptr();
    let tensor: Dlpack = export(array, &[2, 3, 4]).unwrap();
    let described = tensor.validate_export().unwrap();
    assert_eq!(described.shape(), [2, 3, 4]);
    assert_eq!(described.strides(), Some([12, 4, 1].as_slice()));
    assert_eq!(described.device(), DLDevice::CPU);
    assert_eq!(described.dtype(), DLDataType::F32);
    assert_eq!((described.byte_offset(), tensor.flags()), (0, DlpackFlags::empty()));
    assert_eq!(described.data_ptr().cast(), address, "copied");
    assert_eq!(described.data_ptr().addr() % 64, 0);
    assert_eq!((raw(&tensor).version.major, raw(&tensor).dl_tensor.ndim), (1, 3));
    assert_eq!(pool.stats().active_slots, 1);
}

#[test]
fn memory_returns_to_the_pool_and_is_used_again() {
    let pool = pool();
    let first: Dlpack = export(pool.take_filled_with(1000, 1), &[1000]).unwrap();
    let address = first.validate().unwrap().data_ptr();
    drop(first);
    assert_eq!(pool.stats().active_slots, 0);
    let again = pool.take::<u32>(1000);
    assert_eq!(again.as_ptr().cast(), address);
    assert_eq!(pool.stats().growths, 1);
}

#[test]
fn dropped_on_another_thread_after_the_last_handle() {
    let pool = pool();
    let other = pool.clone();
    let tensor: Dlpack = export(pool.take_zeroed::<u64>(100), &[10, 10]).unwrap();
    drop(pool);
    thread::spawn(move || drop(tensor)).join().unwrap();
    assert_eq!(other.stats().active_slots, 0);
    let last: Dlpack = export(other.take_zeroed::<u64>(100), &[100]).unwrap();
    drop(other);
    thread::spawn(move || {
        // SAFETY: made by `export`; nothing writes to it.
        let tensor = unsafe { HostTensor::<u64>::import(last) }.unwrap();
        assert_eq!(*tensor, [0; 100]);
    })
    .join()
    .unwrap();
}

#[test]
fn a_consumer_in_c_writes_and_deletes() {
    let pool = pool();
    let tensor: Dlpack = export(pool.take_zeroed::<i32>(4), &[4]).unwrap();
    let pointer = tensor.into_raw();
    // SAFETY: the tensor is the consumer's.
    let fields = unsafe { &*pointer };
    let (data, deleter) = (fields.dl_tensor.data.cast::<i32>(), fields.deleter.unwrap());
    for index in 0..4 {
        // SAFETY: of four elements.
        let place = unsafe { data.add(index) };
        // SAFETY: the consumer may write.
        unsafe { place.write(7) };
    }
    // SAFETY: once.
    unsafe { deleter(pointer) };
    assert_eq!(pool.stats().active_slots, 0);
    assert_eq!(*pool.take::<i32>(4), [7; 4]);
}

#[test]
fn a_wrong_shape_gives_the_array_back() {
    let pool = pool();
    let array = pool.take_with(6, |i| u8::try_from(i).unwrap());
    let address = array.as_ptr();
    let refused = export::<DLManagedTensorVersioned, _, _>(array, &[2, 4]).err().unwrap();
    assert!(refused.source().is_none());
    assert_eq!(
        refused.to_string(),
        "shape [2, 4] does not match an array of 6 elements: choose axis lengths whose product is 6"
    );
    let refused = export::<DLManagedTensorVersioned, _, _>(refused.array, &[]).err().unwrap();
    let overflow = [usize::MAX, 2];
    let refused = export::<DLManagedTensorVersioned, _, _>(refused.array, &overflow).err().unwrap();
    assert!(matches!(refused.error, TensorError::Shape { elements: 6, .. }));
    assert_eq!(refused.array.as_ptr(), address);
    assert_eq!(*refused.array, [0, 1, 2, 3, 4, 5]);
}

#[test]
fn scalars_and_empty_arrays() {
    let pool = pool();
    let scalar: Dlpack = export(pool.take_with(1, |_| 2.5), &[]).unwrap();
    // SAFETY: made by `export`; nothing writes to it.
    let scalar = unsafe { HostTensor::<f64>::import(scalar) }.unwrap();
    assert_eq!((scalar.shape(), &*scalar), ([].as_slice(), [2.5].as_slice()));
    for shape in [[0, 5], [usize::MAX, 0]] {
        let array = pool.take_zeroed::<f64>(0);
        let tensor = match export::<DLManagedTensorVersioned, _, _>(array, &shape) {
            Ok(tensor) => tensor,
            // An axis that DLPack cannot count.
            Err(refused) => {
                assert!(matches!(refused.error, TensorError::Metadata(_)), "{refused}");
                assert!(refused.source().is_some());
                continue;
            }
        };
        assert!(raw(&tensor).dl_tensor.data.is_null());
        // SAFETY: as above.
        let tensor = unsafe { HostTensor::<f64>::import(tensor) }.unwrap();
        assert!(tensor.is_empty());
        assert_eq!(tensor.shape(), shape);
    }
}

#[test]
fn shared_arrays_are_read_only_and_live_as_long_as_any_of_them() {
    let pool = pool();
    let array = Arc::new(pool.take_with(8, |i| u16::try_from(i).unwrap()));
    let tensors: Vec<Dlpack> = (0..3).map(|_| export_shared(&array, &[8]).unwrap()).collect();
    let workers = tensors.into_iter().map(|tensor| {
        thread::spawn(move || {
            assert_eq!(tensor.flags(), DlpackFlags::READ_ONLY);
            // SAFETY: made by `export_shared`; nothing writes to it.
            let mut tensor = unsafe { HostTensor::<u16>::import(tensor) }.unwrap();
            assert!(tensor.is_read_only());
            // SAFETY: refused.
            assert!(matches!(unsafe { tensor.as_mut_slice() }, Err(TensorError::ReadOnly)));
            tensor.iter().map(|&value| u32::from(value)).sum::<u32>()
        })
    });
    let workers: Vec<_> = workers.collect();
    assert_eq!(array.iter().max(), Some(&7)); // read meanwhile
    for worker in workers {
        assert_eq!(worker.join().unwrap(), 28);
    }
    let refused = export_shared::<DLManagedTensor, _, _>(&array, &[8]);
    assert!(matches!(refused, Err(TensorError::LegacyIsWritable)));
    let refused = export_shared::<DLManagedTensorVersioned, _, _>(&array, &[9]);
    assert!(matches!(refused, Err(TensorError::Shape { elements: 8, .. })));
    let tensor: Dlpack = export_shared(&array, &[2, 4]).unwrap();
    drop(array);
    assert_eq!(pool.stats().active_slots, 1);
    drop(tensor);
    assert_eq!(pool.stats().active_slots, 0);
}

#[test]
fn legacy_consumers_get_a_legacy_tensor() {
    let pool = pool();
    let array = pool.take_with(6, |i| i as i64);
    let address = array.as_ptr();
    let tensor: legacy::Dlpack = export(array, &[3, 2]).unwrap();
    assert_eq!(tensor.flags(), DlpackFlags::empty());
    // SAFETY: made by `export`; nothing else uses it.
    let mut tensor = unsafe { HostTensor::<i64>::import(tensor) }.unwrap();
    assert_eq!((tensor.as_ptr(), tensor.shape()), (address, [3, 2].as_slice()));
    // SAFETY: as above.
    unsafe { tensor.as_mut_slice() }.unwrap()[5] = 50;
    assert_eq!(*tensor, [0, 1, 2, 3, 4, 50]);
}

#[test]
fn limits_count_tensors_and_padding_never_shows() {
    let bytes = if cfg!(miri) { 900 } else { 60_000 };
    let config = PoolConfig::new().byte_limit(bytes * 9 / 8).poison(true);
    let pool = SharedPool::<Cpu>::with_config((), config).unwrap();
    let array: Owned<Cpu, u8> = pool.take_zeroed(bytes);
    let tensor: Dlpack = export(array, &[bytes]).unwrap();
    assert!(pool.try_take_zeroed::<u8>(bytes).is_err(), "the tensor holds the limit");
    drop(tensor);
    assert!(pool.take::<u8>(bytes).iter().all(|&byte| byte == 0xFF));
}

#[test]
fn data_types_are_those_of_the_elements() {
    fn check<T: TensorElement + Send>(name: &str) {
        let pool = pool();
        let tensor: Dlpack = export(pool.take_zeroed::<T>(3), &[3]).unwrap();
        assert_eq!(tensor.validate().unwrap().num_bytes(), 3 * size_of::<T>());
        assert_eq!(T::DATA_TYPE, tensor.validate().unwrap().dtype());
        // SAFETY: nothing writes to it.
        let error = match unsafe { HostTensor::<i8>::import(tensor) } {
            Ok(_) => return assert_eq!(name, "int8"),
            Err(error) => error,
        };
        assert_eq!(
            error.to_string(),
            format!("the tensor has elements of {name}, but int8 was requested")
        );
    }
    check::<i8>("int8");
    if cfg!(miri) {
        return; // each makes a pool, which takes seconds there
    }
    check::<i16>("int16");
    check::<i32>("int32");
    check::<i64>("int64");
    check::<u8>("uint8");
    check::<u16>("uint16");
    check::<u32>("uint32");
    check::<u64>("uint64");
    check::<f32>("float32");
    check::<f64>("float64");
    check::<bool>("bool8");
    #[cfg(feature = "half")]
    {
        check::<pool_core::half::f16>("float16");
        check::<pool_core::half::bf16>("bfloat16");
    }
    #[cfg(feature = "complex")]
    {
        check::<pool_core::num_complex::Complex<f32>>("complex64");
        check::<pool_core::num_complex::Complex<f64>>("complex128");
    }
}

/// Returns an array of one value.
trait TakeFilled {
    fn take_filled_with(&self, length: usize, value: u32) -> Owned<Cpu, u32>;
}

impl TakeFilled for SharedPool<Cpu> {
    fn take_filled_with(&self, length: usize, value: u32) -> Owned<Cpu, u32> {
        self.take_with(length, |_| value)
    }
}

#[test]
fn both_kinds_of_tensors_are_send() {
    fn is_send<T: Send + 'static>() {}
    is_send::<HostTensor<f32>>();
    fn is_base<M: ManagedTensorBase>() {}
    is_base::<DLManagedTensor>();
}
