//! Discovery works everywhere: it finds a device, or returns an error that names the missing part.

use pool_cuda::{Cuda, CudaError, DeviceStream};

#[test]
fn discovery_answers_or_says_what_is_missing() {
    match Cuda::device_count() {
        Ok(count) => {
            assert!(count > 0 && Cuda::is_available());
            let missing = CudaError::NoSuchDevice { asked: count, count };
            assert_eq!(Cuda::device(count).unwrap_err(), missing);
            assert_eq!(Cuda::set_device(count), Err(missing));
        }
        Err(error) => {
            assert!(!Cuda::is_available());
            // Every call for a device returns the same error, and none panics.
            assert_eq!(Cuda::device(0).unwrap_err(), error);
            assert_eq!(Cuda::set_device(0), Err(error));
            assert_eq!(DeviceStream::for_thread().unwrap_err(), error);
            let (text, debug) = (error.to_string(), format!("{error:?}"));
            assert!(text.contains("driver") && !debug.is_empty(), "{text}");
        }
    }
    assert_eq!(Cuda::current_device(), 0);
}

#[test]
fn errors_and_contexts_move_between_threads() {
    fn is_send<T: Send>() {}
    fn is_sync<T: Sync>() {}
    is_send::<CudaError>();
    is_sync::<CudaError>();
    is_send::<pool_core::Pool<Cuda>>();
    is_send::<pool_core::DynamicPool<Cuda>>();
    is_send::<pool_cuda::CudaDevice>();
    is_sync::<pool_cuda::CudaDevice>();
}

#[test]
fn the_backend_is_of_no_size_and_its_blocks_are_a_word() {
    assert_eq!(size_of::<Cuda>(), 0);
    assert_eq!(size_of::<pool_cuda::DeviceBlock>(), 8);
    assert_eq!(size_of::<Option<pool_cuda::CudaDevice>>(), size_of::<usize>());
}
