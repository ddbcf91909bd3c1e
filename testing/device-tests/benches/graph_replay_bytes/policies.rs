//! A program captured with an arena, under each arena policy.

use std::time::Duration;

use pool_core::error_chain;
use pool_graph::{
    ArenaPolicy, Capture, CaptureError, CapturedGraph, CudaArena, DeviceMemory, Footprint,
    GraphMemoryError,
};
use pool_plan::Options;

use crate::clock::Clock;
use crate::programs::{Program, session_with};
use crate::record::{Measured, Outcome};

/// The results of a plan.
pub(crate) struct Planned {
    pub(crate) footprint: Footprint,
    pub(crate) measured: Measured,
}

/// Returns options that limit planning to one second. Planning ends earlier if the plan is within 1
/// % of the bound.
fn options() -> Options {
    Options { tolerance: 1.01, budget: Duration::from_secs(1), ..Options::default() }
}

pub(crate) fn planned(memory: &DeviceMemory, program: &Program, clock: Clock) -> Planned {
    let (session, kept) = session_with(memory, program, false);
    let body = |capture: &Capture<'_>, (): &mut ()| program.body(capture, &kept);
    let probe = session.probe_with::<_, CaptureError>(&options(), &mut (), body).unwrap();
    let bytes = probe.arena_bytes();
    let graph = session.planned(&probe).unwrap().capture::<_, CaptureError>((), body).unwrap();
    let measured = Measured { bytes, microseconds: replays(graph, clock) };
    Planned { footprint: probe.footprint(), measured }
}

pub(crate) fn monotone(memory: &DeviceMemory, program: &Program, clock: Clock) -> Outcome {
    match with_arena(memory, program, ArenaPolicy::Monotone) {
        Ok(graph) => measured(graph, clock),
        Err(error) => panic!("{}", error_chain(&error)),
    }
}

pub(crate) fn linear(memory: &DeviceMemory, program: &Program, clock: Clock) -> Outcome {
    match with_arena(memory, program, ArenaPolicy::Linear) {
        Ok(graph) => measured(graph, clock),
        Err(CaptureError::Memory(GraphMemoryError::ForkedCapture { .. })) => Outcome::Refused,
        Err(error) => panic!("{}", error_chain(&error)),
    }
}

/// Runs the program with an arena that is large enough for any policy.
fn with_arena(
    memory: &DeviceMemory,
    program: &Program,
    policy: ArenaPolicy,
) -> Result<CapturedGraph, CaptureError> {
    let (session, kept) = session_with(memory, program, false);
    let arena = CudaArena::new(memory.clone(), program.sum().max(1), policy)?;
    session.prepare(arena)?.capture((), |capture, ()| program.body(capture, &kept))
}

fn measured(graph: CapturedGraph, clock: Clock) -> Outcome {
    let bytes = graph.footprint().peak;
    Outcome::Measured(Measured { bytes, microseconds: replays(graph, clock) })
}

fn replays(mut graph: CapturedGraph, clock: Clock) -> Option<f64> {
    clock.median(|| {
        graph.replay().unwrap();
        graph.synchronize().unwrap();
    })
}
