//! Makes each driver call fail in turn. The result is a typed error or success, nothing leaks, and
//! the pool and the arena continue to work.

use std::sync::Arc;

use cuda_sim_control::Settings;
use cudarc::driver::CudaStream;
use cudarc::driver::result::DriverError;
use pool_core::error_chain;
use pool_cuda::{Cuda, CudaError};
use pool_graph::{
    ArenaPolicy, CUDAGraphMemoryPool, CudaArena, DeviceMemory, GraphMemoryError, GraphPoolConfig,
};

use crate::support::{start, start_anew};
use crate::{MIB, capture, fill};

/// The result of a run.
type Ended = Result<(), GraphMemoryError<CudaError>>;

fn wrapped(source: CudaError) -> GraphMemoryError<CudaError> {
    GraphMemoryError::Source { operation: "run the script", source }
}

fn by_cudarc(error: DriverError) -> GraphMemoryError<CudaError> {
    wrapped(CudaError::Call { call: "a cudarc call", code: error.into() })
}

/// Runs a pool that grows, is leased, reset and trimmed, and is dropped before the lease.
fn pool_script(memory: &DeviceMemory) -> Ended {
    let config = GraphPoolConfig { initial: 16 * MIB, maximum: 36 * MIB };
    let pool = CUDAGraphMemoryPool::with_config(memory.clone(), config);
    pool.refusal().map_or(Ok(()), |refusal| Err(wrapped(*refusal)))?;
    let small = pool.allocate(1000)?;
    pool.allocate(17 * MIB)?;
    let lease = pool.lease(&[small.id()])?;
    pool.reset()?;
    pool.allocate(18 * MIB)?;
    pool.trim()?;
    drop(pool);
    lease.check()
}

/// Runs an arena on a stream, a capture that allocates from the arena, and a replay.
fn arena_script(memory: &DeviceMemory, stream: &Arc<CudaStream>) -> Ended {
    let arena = CudaArena::new(memory.clone(), MIB, ArenaPolicy::Linear)?;
    arena.install(stream)?;
    let mut cleared = Ok(());
    let captured = capture(stream, || {
        let filled = arena.allocate(4096).map(|region| fill(stream, region.address(), 1));
        cleared = arena.clear(stream);
        filled.unwrap()
    });
    if CudaArena::on(stream).is_some() {
        // The driver refused the capture before it began.
        arena.clear(stream)?;
    }
    let ((), graph) = captured.map_err(by_cudarc)?;
    cleared?;
    let lease = arena.lease();
    drop(arena);
    graph.launch().map_err(by_cudarc)?;
    stream.synchronize().map_err(by_cudarc)?;
    drop(graph);
    lease.check()
}

/// Calls that only free or destroy, which are not repeated. Their objects leak. For objects of this
/// crate, `take_pending_error` returns the error.
const GIVEN_UP: [&str; 4] =
    ["cuMemFree_v2", "cuGraphExecDestroy", "cuGraphDestroy", "cuStreamDestroy_v2"];

#[test]
#[ignore = "needs a process of its own: cargo xtask sim-test"]
fn every_call_may_fail() {
    let simulator = start();
    let (mut failures, mut absorbed) = (0, 0);
    for nth in 1.. {
        start_anew(simulator, Settings::default(), nth);
        let device = Cuda::device(0).unwrap();
        let stream = device.context().new_stream().unwrap();
        let memory = DeviceMemory::new(&device);
        simulator.forget_calls();
        simulator.fail_any_call(nth, 999);
        let ended = pool_script(&memory).and_then(|()| arena_script(&memory, &stream));
        let log = simulator.log();
        let Some(failed) = log.iter().find(|call| call.code == 999) else {
            assert_eq!(ended, Ok(()));
            break;
        };
        let name = failed.name.as_str();
        match &ended {
            Err(error) => {
                failures += 1;
                let text = error_chain(error).to_string();
                assert!(text.contains("999 UNKNOWN"), "{name}: {text}");
            }
            Ok(()) => absorbed += 1,
        }
        assert_eq!(memory.take_pending_error().is_some(), name == "cuMemFree_v2", "{name}");
        simulator.forget_failures();
        // Errors that cudarc's destructors stored for the next call must not affect that call.
        let _ = device.context().check_err();
        let again = pool_script(&memory).and_then(|()| arena_script(&memory, &stream));
        assert_eq!(again, Ok(()), "after {name} as call {nth}");
        drop((device, stream, memory));
        simulator.assert_clean();
        if !GIVEN_UP.contains(&name) {
            let leaks = simulator.leaks();
            assert!(leaks.is_empty(), "{name} as call {nth}: {leaks:?}");
        }
    }
    println!("{failures} failures returned, {absorbed} absorbed");
    assert!(failures > 10 && absorbed > 10, "{failures} and {absorbed}");
}
