//! Host functions in captured work. Each replay calls them in order, and the verifier treats them
//! as uses, like any other node.

use std::ffi::c_void;
use std::ptr;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use cuda_sim_control::Settings;
use cudarc::driver::{CudaStream, result, sys};
use pool_graph::{
    ArenaPolicy, Capture, CaptureError, CaptureSession, CudaArena, UnverifiedCapture,
};

use crate::common::{BYTES, Made, arena, memory, pool, stream};
use crate::support::{orders, start, start_anew};

/// Numbers in host memory that copies write and read, and the factor of a host function.
struct Numbers {
    /// The address of a page-locked array of 16 numbers.
    place: *mut u32,
    factor: u32,
    calls: AtomicU32,
}

impl Numbers {
    fn new(factor: u32) -> Rc<Self> {
        // SAFETY: the allocation has no preconditions; all 16 numbers are written before any is
        // read.
        let place = unsafe { result::malloc_host(64, 0) }.unwrap().cast();
        Rc::new(Self { place, factor, calls: AtomicU32::new(0) })
    }
}

impl Drop for Numbers {
    fn drop(&mut self) {
        // SAFETY: the memory came from `malloc_host`, and the graph that copies from and to it was
        // dropped.
        unsafe { result::free_host(self.place.cast()) }.unwrap();
    }
}

/// Multiplies each number by the factor.
unsafe extern "C" fn multiply(numbers: *mut c_void) {
    // SAFETY: the graph's state keeps the numbers alive for as long as this function may be called.
    let numbers = unsafe { &*numbers.cast_const().cast::<Numbers>() };
    // SAFETY: the array has 16 numbers. The earlier copy has written them, and the later copy reads
    // them only after this function has returned.
    let place = unsafe { &mut *numbers.place.cast::<[u32; 16]>() };
    place.iter_mut().for_each(|number| *number *= numbers.factor);
    numbers.calls.fetch_add(1, Ordering::SeqCst);
}

fn call(stream: &Arc<CudaStream>, numbers: *const Numbers) -> Result<(), CaptureError> {
    let data = numbers.cast_mut().cast();
    // SAFETY: the function has this type, and its data lives as long as the graph or is not read.
    Ok(unsafe { sys::cuLaunchHostFunc(stream.cu_stream(), Some(multiply), data) }.result()?)
}

/// Copies a view to the host, multiplies the numbers on the host, and copies them back.
fn body(
    capture: &Capture<'_>,
    numbers: &Rc<Numbers>,
    [input, output]: [&pool_graph::GraphMemoryBlock; 2],
) -> Result<(), CaptureError> {
    let (main, branch) = (capture.main(), capture.branch(0)?);
    let (input, mut output) = (capture.block::<u8>(input)?, capture.block::<u8>(output)?);
    let mut view = capture.acquire::<u8>(4096)?;
    capture.copy(main, &mut view, &input)?;
    let (address, host) = (view.address(), numbers.place.cast::<c_void>());
    let work = |stream: &Arc<CudaStream>| {
        let raw = stream.cu_stream();
        // SAFETY: the copy uses the first 64 bytes of the view, and 64 bytes that the state keeps
        // alive.
        unsafe { sys::cuMemcpyDtoHAsync_v2(host, address, 64, raw) }.result()?;
        call(stream, Rc::as_ptr(numbers))?;
        // SAFETY: as above.
        Ok(unsafe { sys::cuMemcpyHtoDAsync_v2(address, host, 64, raw) }.result()?)
    };
    // SAFETY: the work uses the view, and memory that the state keeps alive and no other work uses.
    unsafe { capture.enqueue(branch, &[view.write()], work) }?;
    capture.copy(main, &mut output, &view)
}

/// Each replay calls the function once, after its data has been written and before the result is
/// read. An update calls another function with other data.
#[test]
#[ignore = "needs a process of its own: cargo xtask sim-test"]
fn a_host_function_keeps_its_place() {
    let simulator = start();
    for seed in 0..orders() {
        start_anew(simulator, Settings::default(), seed);
        let (main, branch, pool) = (stream(), stream(), pool());
        let blocks = [(); 2].map(|()| pool.allocate(BYTES).unwrap());
        let session = CaptureSession::new(&main).unwrap().branch(&branch).unwrap();
        let session = session.lease(pool.lease(&blocks.map(|block| block.id())).unwrap());
        let run = |capture: &Capture<'_>, numbers: &mut Rc<Numbers>| {
            body(capture, numbers, blocks.each_ref())
        };
        let made: Made<_> = session.prepare(arena()).unwrap().capture(Numbers::new(3), run);
        let mut graph = made.unwrap();
        for (factor, calls) in [(3, 4), (5, 2)] {
            if factor == 5 {
                // The old numbers live until the update has replaced the function.
                let _old = std::mem::replace(graph.state().unwrap(), Numbers::new(5));
                graph.update(run).unwrap();
            }
            for call in 1..=calls {
                graph.write(&blocks[0], &[call; 1024]).unwrap();
                graph.replay().unwrap();
                let mut read = [0_u32; 17];
                graph.read(&blocks[1], &mut read).unwrap();
                assert_eq!(read[..16], [factor * call; 16]);
                assert_eq!(read[16], call);
                assert_eq!(graph.state().unwrap().calls.load(Ordering::SeqCst), call);
            }
        }
        drop(graph);
        simulator.assert_clean();
    }
}

/// Removes the only edge of a graph.
fn remove_the_edge(unverified: &UnverifiedCapture) {
    let (mut from, mut to, mut count) = (ptr::null_mut(), ptr::null_mut(), 1);
    let mut data = sys::CUgraphEdgeData { from_port: 0, to_port: 0, type_: 0, reserved: [0; 5] };
    let graph = unverified.graph();
    let (sources, targets, place) = (&raw mut from, &raw mut to, &raw mut data);
    // SAFETY: the graph is live, and each array has one entry.
    unsafe { sys::cuGraphGetEdges_v2(graph, sources, targets, place, &raw mut count) }
        .result()
        .unwrap();
    // SAFETY: the edge belongs to the graph.
    unsafe { sys::cuGraphRemoveDependencies_v2(graph, sources, targets, place, 1) }
        .result()
        .unwrap();
}

/// Two temporaries share the same bytes, and a host function uses each of them. The layout is valid
/// only if the two functions are ordered.
#[test]
#[ignore = "needs a process of its own: cargo xtask sim-test"]
fn a_host_function_is_a_use() {
    let simulator = start();
    let main = stream();
    let arena = CudaArena::new(memory(), 1 << 16, ArenaPolicy::Linear).unwrap();
    let prepared = CaptureSession::new(&main).unwrap().prepare(arena).unwrap();
    let unverified: Result<_, CaptureError> =
        prepared.capture_unverified(&mut (), |capture, ()| {
            let mut addresses = [0, 1];
            for place in &mut addresses {
                let mut view = capture.acquire::<u8>(4096)?;
                *place = view.address();
                // SAFETY: the graph never runs.
                unsafe {
                    capture.enqueue(capture.main(), &[view.write()], |stream| {
                        call(stream, ptr::null())
                    })
                }?;
            }
            assert_eq!(addresses[0], addresses[1]);
            Ok(())
        });
    let unverified = unverified.unwrap();
    assert_eq!(unverified.verify().unwrap().sharing, 1);
    remove_the_edge(&unverified);
    let refused = unverified.verify();
    let Err(CaptureError::Unordered { first, second }) = &refused else { panic!("{refused:?}") };
    assert_eq!((first.number, second.number), (0, 1));
    simulator.assert_clean();
}
