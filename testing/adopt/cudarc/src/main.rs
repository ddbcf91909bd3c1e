//! Captures a function that was written for cudarc alone, and allocates its slices, without changes. Its slices lie in
//! a workspace of the graph. That needs `allocator.patch` of cudarc. The program compares the graph with the eager run
//! on the simulated device.

use std::error::Error;
use std::mem::ManuallyDrop;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use cudarc::driver::sys::{CUdeviceptr, CUresult};
use cudarc::driver::{
    CudaFunction, CudaSlice, CudaStream, DriverError, LaunchConfig, PushKernelArg, SliceAllocator,
    result, with_slice_allocator,
};
use pool_cuda::Cuda;
use pool_graph::{
    CUDAGraphMemoryPool, Capture, CaptureError, CaptureSession, DeviceMemory, GraphPoolConfig,
};
use pool_kernels::elementwise;

const N: usize = 1024;
const BYTES: usize = 4 * N;

/// A layer as in another crate: it allocates two slices, drops one and returns the other. It has no code for pools or
/// captures.
fn layer(
    stream: &Arc<CudaStream>,
    axpy: &CudaFunction,
    weights: &CudaSlice<f32>,
    input: &CudaSlice<f32>,
) -> Result<CudaSlice<f32>, DriverError> {
    let (factor, count) = (2.0_f32, N as u64);
    let mut scratch = stream.clone_dtod(input)?;
    let mut output = stream.alloc_zeros::<f32>(N)?;
    for (x, y) in [(weights, &mut scratch)] {
        let mut launch = stream.launch_builder(axpy);
        launch.arg(&factor).arg(x).arg(y).arg(&count);
        // SAFETY: the parameters are those of `AXPY`, and both slices have `count` elements.
        unsafe { launch.launch(LaunchConfig::for_num_elems(64)) }?;
    }
    let mut launch = stream.launch_builder(axpy);
    launch.arg(&factor).arg(&scratch).arg(&mut output).arg(&count);
    // SAFETY: as above.
    unsafe { launch.launch(LaunchConfig::for_num_elems(64)) }?;
    Ok(output)
}

/// Consecutive slices in a workspace of the graph. Nothing is freed: the workspace is the graph's.
#[derive(Debug)]
struct InWorkspace {
    next: AtomicU64,
    end: u64,
}

// SAFETY: the ranges are disjoint, and in a workspace, which only this graph uses until it ends.
unsafe impl SliceAllocator for InWorkspace {
    fn alloc(&self, _: &CudaStream, bytes: usize) -> Result<CUdeviceptr, DriverError> {
        let bytes = (bytes as u64).next_multiple_of(256);
        let address = self.next.fetch_add(bytes, Ordering::Relaxed);
        if address + bytes > self.end {
            return Err(DriverError(CUresult::CUDA_ERROR_OUT_OF_MEMORY));
        }
        Ok(address)
    }

    unsafe fn free(&self, _: &CudaStream, _: CUdeviceptr) {}
}

fn main() -> Result<(), Box<dyn Error>> {
    let simulator = cuda_sim_test::start();
    let device = Cuda::device(0)?;
    let (stream, context) = (device.context().new_stream()?, device.context());
    // SAFETY: all work is on one stream.
    unsafe { context.disable_event_tracking() };
    let module = context.load_module(cudarc::nvrtc::Ptx::from_src(elementwise::MODULE.text()))?;
    let axpy = module.load_function(elementwise::AXPY.f32)?;
    let weights = Arc::new(stream.clone_htod(&[3.0_f32; N])?);
    let input = stream.clone_htod(&[1.0_f32; N])?;
    let eager = stream.clone_dtoh(&layer(&stream, &axpy, &weights, &input)?)?;

    let config = GraphPoolConfig { initial: 0, maximum: u64::MAX };
    let pool = CUDAGraphMemoryPool::with_config(DeviceMemory::new(&device), config);
    let result_block = pool.allocate(BYTES as u64)?;
    let mut session = CaptureSession::new(&stream)?.lease(pool.lease(&[result_block.id()])?);
    let (weights, input) = (session.own(Arc::clone(&weights))?, session.own(input)?);
    let body = |capture: &Capture<'_>, (): &mut ()| -> Result<(), CaptureError> {
        let main = capture.main();
        let mut workspace = capture.workspace(main, 2 * BYTES)?;
        let (weights, input) = (capture.owned(&weights)?, capture.owned(&input)?);
        let mut to = capture.block::<f32>(&result_block)?;
        let [x, w, y] = [input.address(), weights.address(), to.address()];
        let (begin, bytes) = (workspace.address(), workspace.bytes() as u64);
        let uses = [workspace.write(), weights.read(), input.read(), to.write()];
        let work = |stream: &Arc<CudaStream>| {
            let allocator = InWorkspace { next: AtomicU64::new(begin), end: begin + bytes };
            with_slice_allocator(Arc::new(allocator), || {
                // SAFETY: both are memory of `N` elements, which these slices do not free.
                let [w, x] = [w, x].map(|at| unsafe { stream.upgrade_device_ptr::<f32>(at, N) });
                let [w, x] = [w, x].map(ManuallyDrop::new);
                let output = layer(stream, &axpy, &w, &x)?;
                let _leaked = [w, x].map(|slice| ManuallyDrop::into_inner(slice).leak());
                let from = output.leak();
                // SAFETY: both have `BYTES` bytes, and are used in this stream.
                Ok(unsafe { result::memcpy_dtod_async(y, from, BYTES, stream.cu_stream()) }?)
            })
        };
        // SAFETY: the layer reads and writes these, on this stream.
        unsafe { capture.enqueue(main, &uses, work) }
    };
    let probe = session.probe(&mut (), body)?;
    println!("{}", probe.footprint());
    let mut graph = session.planned(&probe)?.capture((), body)?;
    let mut found = [0.0_f32; N];
    for _ in 0..1000 {
        graph.replay()?;
    }
    graph.read(&result_block, &mut found)?;
    assert!(eager.iter().zip(found).all(|(one, other)| one.to_bits() == other.to_bits()));
    drop((graph, pool, stream, module));
    println!(
        "1,000 replays, bit-identical to the eager run; {} reports",
        simulator.take_reports().len()
    );
    Ok(())
}
