//! Captures with graph memory: a graph uses real memory, and is replayed.

use std::sync::Arc;

use cudarc::driver::sys::{
    CUgraphInstantiate_flags, CUresult, CUstreamCaptureMode, cuMemcpyDtoH_v2,
};
use cudarc::driver::{CudaStream, result};
use pool_cuda::Cuda;
use pool_graph::{ArenaPolicy, CUDAGraphMemoryPool, CudaArena, GraphMemoryError, GraphPoolConfig};

use crate::cases::MIB;
use crate::{memory, require_device};

const MODES: [CUstreamCaptureMode; 3] = [
    CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_GLOBAL,
    CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_THREAD_LOCAL,
    CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_RELAXED,
];

fn stream() -> Arc<CudaStream> {
    Cuda::device(0).unwrap().context().new_stream().unwrap()
}

fn fill(stream: &CudaStream, address: u64, value: u8, bytes: usize) {
    // SAFETY: the callers pass ranges of live blocks, and use them only on this stream.
    unsafe { result::memset_d8_async(address, value, bytes, stream.cu_stream()) }.unwrap();
}

fn copy(stream: &CudaStream, to: u64, from: u64, bytes: usize) {
    // SAFETY: as above.
    unsafe { result::memcpy_dtod_async(to, from, bytes, stream.cu_stream()) }.unwrap();
}

fn read(address: u64, bytes: usize) -> Vec<u8> {
    let mut host = vec![0; bytes];
    // SAFETY: the host range has the given length, and all work on the device range is done.
    let copied = unsafe { cuMemcpyDtoH_v2(host.as_mut_ptr().cast(), address, bytes) };
    assert_eq!(copied, CUresult::CUDA_SUCCESS);
    host
}

const NO_FLAGS: CUgraphInstantiate_flags = CUgraphInstantiate_flags(0);

/// A pool and an arena allocate, free and grow during a capture, on the capturing thread and on
/// another one. This neither invalidates the capture nor adds nodes to it.
#[test]
#[ignore = "needs a CUDA device"]
fn a_capture_does_not_notice() {
    let _present = require_device();
    for mode in MODES {
        let stream = stream();
        let config = GraphPoolConfig { initial: 0, maximum: u64::MAX };
        let pool = CUDAGraphMemoryPool::with_config(memory(), config);
        let block = pool.allocate(4096).unwrap();
        stream.begin_capture(mode).unwrap();
        let grow = || {
            let large = pool.allocate(20 * MIB).unwrap();
            pool.deallocate(large.id()).unwrap();
            pool.trim().unwrap();
            drop(CudaArena::new(memory(), MIB, ArenaPolicy::Monotone).unwrap());
        };
        grow();
        std::thread::scope(|scope| scope.spawn(grow).join().unwrap());
        fill(&stream, block.address(), 7, 4096);
        let graph = stream.end_capture(NO_FLAGS).unwrap().unwrap();
        assert_eq!(memory().take_pending_error(), None);
        let lease = pool.lease(&[block.id()]).unwrap();
        graph.launch().unwrap();
        stream.synchronize().unwrap();
        assert!(read(block.address(), 4096).iter().all(|&byte| byte == 7));
        drop(graph);
        drop(lease);
    }
}

/// The memory of a graph outlives its pool, and replays do not overwrite memory that was allocated
/// later.
#[test]
#[ignore = "needs a CUDA device"]
fn replays_after_the_pool_is_gone() {
    let _present = require_device();
    let stream = stream();
    let config = GraphPoolConfig { initial: 16 * MIB, maximum: u64::MAX };
    let pool = CUDAGraphMemoryPool::with_config(memory(), config);
    let [input, output] = [(); 2].map(|()| pool.allocate(65_536).unwrap());
    stream.begin_capture(MODES[1]).unwrap();
    fill(&stream, input.address(), 3, 65_536);
    copy(&stream, output.address(), input.address(), 65_536);
    let graph = stream.end_capture(NO_FLAGS).unwrap().unwrap();
    let lease = pool.lease(&[input.id(), output.id()]).unwrap();

    assert_eq!(pool.reset().unwrap().leased, 2);
    let other = pool.allocate(10 * MIB).unwrap();
    assert!(!lease.contains(other.address(), 1));
    fill(&stream, other.address(), 9, 4096);
    for round in 0..100 {
        lease.check().unwrap();
        fill(&stream, output.address(), 0, 65_536);
        graph.launch().unwrap();
        if round == 50 {
            stream.synchronize().unwrap();
            assert!(read(other.address(), 4096).iter().all(|&byte| byte == 9));
            pool.dispose();
        }
    }
    drop(pool);
    stream.synchronize().unwrap();
    assert!(read(output.address(), 65_536).iter().all(|&byte| byte == 3));
    drop(graph);
    drop(lease);
}

/// Code that has only the stream can find its arena. A capture on one stream passes verification
/// and replays correctly, although its temporaries share bytes.
#[test]
#[ignore = "needs a CUDA device"]
fn an_arena_on_a_stream() {
    let _present = require_device();
    let (stream, other) = (stream(), stream());
    let arena = CudaArena::new(memory(), MIB, ArenaPolicy::Linear).unwrap();
    let kept = arena.allocate(8192).unwrap();
    assert!(CudaArena::on(&stream).is_none());
    arena.install(&stream).unwrap();
    assert!(CudaArena::on(&other).is_none());
    for stream in [&stream, &other] {
        let again = arena.install(stream);
        assert!(matches!(again, Err(GraphMemoryError::AlreadyInstalled { .. })));
    }
    stream.begin_capture(MODES[1]).unwrap();
    let mut addresses = Vec::new();
    for value in [1_u8, 2] {
        let arena = CudaArena::on(&stream).unwrap();
        let scratch = arena.allocate(4096).unwrap();
        fill(&stream, scratch.address(), value, 4096);
        let half = kept.address() + 4096 * u64::from(value - 1);
        copy(&stream, half, scratch.address(), 4096);
        addresses.push(scratch.address());
        let _ended = arena.deallocate(scratch.address());
    }
    assert_eq!(addresses[0], addresses[1], "in one row, bytes are used again");
    let foreign = arena.clear(&other);
    assert!(matches!(foreign, Err(GraphMemoryError::NotInstalled { .. })));
    arena.clear(&stream).unwrap();
    assert!(CudaArena::on(&stream).is_none());
    let graph = stream.end_capture(NO_FLAGS).unwrap().unwrap();
    assert_eq!(arena.check_graph(&graph), Ok(()));
    let lease = arena.lease();
    for _ in 0..10 {
        graph.launch().unwrap();
    }
    stream.synchronize().unwrap();
    let bytes = read(kept.address(), 8192);
    assert!(bytes[..4096].iter().all(|&byte| byte == 1));
    assert!(bytes[4096..].iter().all(|&byte| byte == 2));
    drop(graph);
    drop(lease);
}

/// An arena that rewinds refuses a capture that forks. An arena that never reuses bytes accepts the
/// same capture.
#[test]
#[ignore = "needs a CUDA device"]
fn a_capture_that_forks() {
    let _present = require_device();
    for policy in [ArenaPolicy::Linear, ArenaPolicy::Monotone] {
        let (stream, branch) = (stream(), stream());
        let arena = CudaArena::new(memory(), MIB, policy.clone()).unwrap();
        let regions = [(); 3].map(|()| arena.allocate(4096).unwrap().address());
        arena.install(&stream).unwrap();
        stream.begin_capture(MODES[1]).unwrap();
        fill(&stream, regions[0], 1, 4096);
        branch.join(&stream).unwrap();
        fill(&branch, regions[1], 2, 4096);
        fill(&stream, regions[2], 3, 4096);
        stream.join(&branch).unwrap();
        arena.clear(&stream).unwrap();
        let graph = stream.end_capture(NO_FLAGS).unwrap().unwrap();
        let checked = arena.check_graph(&graph);
        match policy {
            ArenaPolicy::Linear => {
                let refused = GraphMemoryError::ForkedCapture { rewinds: 0 };
                assert_eq!(checked, Err(refused));
                assert!(arena.allocate(1).is_err());
            }
            _ => assert_eq!(checked, Ok(())),
        }
    }
}
