//! Kernels that may begin before the previous kernel has completed. A temporary that reuses bytes
//! across such an edge is refused, based on the edge data in the graph.

use std::ffi::c_void;
use std::ptr;
use std::sync::Arc;

use cudarc::driver::{CudaFunction, CudaStream, sys};
use pool_cuda::Cuda;
use pool_graph::{
    ArenaPolicy, CaptureError, CaptureSession, CapturedGraph, CudaArena, DeviceMemory,
};
use pool_kernels::elementwise::{FILL, MODULE};

use crate::support::{function, start};

const COUNT: u64 = 64;

/// Fills `count` numbers at an address. If `early` is `true`, the kernel may begin before the
/// previous work has completed.
///
/// # Safety
///
/// The stream must be live, and the address must refer to `count` numbers on the stream's device.
unsafe fn fill(
    kernel: &CudaFunction,
    stream: &CudaStream,
    mut address: u64,
    programmatic: bool,
) -> Result<(), CaptureError> {
    let mut attribute = sys::CUlaunchAttribute {
        id: sys::CUlaunchAttributeID_enum::CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION,
        pad: [0; 4],
        value: sys::CUlaunchAttributeValue {
            programmaticStreamSerializationAllowed: i32::from(programmatic),
        },
    };
    let config = sys::CUlaunchConfig {
        gridDimX: 1,
        gridDimY: 1,
        gridDimZ: 1,
        blockDimX: 64,
        blockDimY: 1,
        blockDimZ: 1,
        sharedMemBytes: 0,
        hStream: stream.cu_stream(),
        attrs: &raw mut attribute,
        numAttrs: 1,
    };
    let (mut value, mut count) = (1.0_f32, COUNT);
    let mut places: [*mut c_void; 3] = [
        ptr::from_mut(&mut address).cast(),
        ptr::from_mut(&mut value).cast(),
        ptr::from_mut(&mut count).cast(),
    ];
    let (places, kernel) = (places.as_mut_ptr(), kernel.cu_function());
    // SAFETY: the arguments match the kernel's parameters; the caller guarantees the rest.
    let launched =
        unsafe { sys::cuLaunchKernelEx(&raw const config, kernel, places, ptr::null_mut()) };
    Ok(launched.result()?)
}

#[test]
#[ignore = "needs a process of its own: cargo xtask sim-test"]
fn bytes_that_change_hands_over_a_programmatic_edge() {
    let simulator = start();
    let context = Arc::clone(Cuda::device(0).unwrap().context());
    let kernel = function(&context, MODULE, FILL.f32);
    for (policy, programmatic) in
        [(ArenaPolicy::Linear, false), (ArenaPolicy::Linear, true), (ArenaPolicy::Monotone, true)]
    {
        let shares = policy == ArenaPolicy::Linear;
        let stream = context.new_stream().unwrap();
        let arena = CudaArena::new(DeviceMemory::of_context(Arc::clone(&context)), 4096, policy);
        let session = CaptureSession::new(&stream).unwrap().prepare(arena.unwrap()).unwrap();
        let made: Result<CapturedGraph, CaptureError> = session.capture((), |capture, ()| {
            for programmatic in [false, programmatic] {
                let mut view = capture.acquire::<f32>(64)?;
                let address = view.address();
                // SAFETY: the view contains `count` numbers.
                let work = |stream: &Arc<CudaStream>| unsafe {
                    fill(&kernel, stream, address, programmatic)
                };
                // SAFETY: the work only writes its view, on this stream.
                unsafe { capture.enqueue(capture.main(), &[view.write()], work) }?;
            }
            Ok(())
        });
        match made {
            Ok(mut graph) => {
                assert!(!shares || !programmatic, "the second may begin too early");
                assert_eq!(graph.verified().sharing, usize::from(shares));
                graph.replay().unwrap();
            }
            Err(error) => {
                assert!(matches!(error, CaptureError::Unordered { .. }), "{error:?}");
                assert!(shares && programmatic);
            }
        }
    }
    simulator.assert_clean();
}
