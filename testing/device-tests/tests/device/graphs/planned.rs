//! Random captures that are planned, captured and verified under the three policies.

use pool_core::error_chain;
use pool_graph::{
    ArenaPolicy, CaptureError, CapturedGraph, CudaArena, Divergence, GraphMemoryError,
};
use pool_plan::Options;

use crate::generator;
use crate::programs::{Program, Step, check_results, session};
use crate::{memory, require_device};

/// Returns the number of random captures for each number of streams. For the simulated driver,
/// `tests/simulated/captured_graphs` contains more and longer captures.
fn captures() -> usize {
    let number = std::env::var("POOL_DEVICE_CAPTURES").ok();
    number.map_or(3, |number| number.parse().unwrap())
}

/// Returns programs that use 1, 2, 4 and 8 streams.
fn programs() -> impl Iterator<Item = (u64, Program)> {
    generator::settings(4 * captures(), false).map(|setting| {
        let shorter = generator::Capture { operations: 1000, ..setting };
        (setting.seed, Program::generated(&shorter))
    })
}

#[test]
#[ignore = "needs a CUDA device"]
fn planned_captures_are_right_and_near_the_bound() {
    let _present = require_device();
    let mut ratios = Vec::new();
    for (seed, program) in programs() {
        let memory = memory();
        let (session, outputs) = session(&memory, &program);
        let options = Options { tolerance: 1.01, rounds: Some(10), ..Options::default() };
        let dry = |capture: &pool_graph::Capture<'_>, (): &mut ()| program.body(capture, &outputs);
        let probe: pool_graph::Probe = session
            .probe_with(&options, &mut (), dry)
            .unwrap_or_else(|error: CaptureError| panic!("{}", error_chain(&error)));
        let footprint = probe.footprint();
        assert_eq!(probe.temporaries(), program.sizes.len());
        assert_eq!(footprint.sum, program.sum());
        let prepared = session.planned(&probe).unwrap();
        let body = |capture: &pool_graph::Capture<'_>, (): &mut ()| program.body(capture, &outputs);
        let mut graph: CapturedGraph = prepared
            .capture((), body)
            .unwrap_or_else(|error: CaptureError| panic!("seed {seed}: {}", error_chain(&error)));
        assert_eq!(graph.footprint(), footprint, "the prediction equals the capture");
        assert!(graph.verified().sharing > 0 && graph.verified().accesses > 0);
        check_results(&mut graph, &program, &outputs, 3);
        ratios.push(footprint.ratio());
    }
    ratios.sort_by(f64::total_cmp);
    let median = ratios[ratios.len() / 2];
    let late = ratios[(ratios.len() * 99).div_ceil(100) - 1];
    println!("FIGURE: {} captures: median {median:.4}, 99th percentile {late:.4}", ratios.len());
    assert!(median <= 1.05 && late <= 1.15);
}

#[test]
#[ignore = "needs a CUDA device"]
fn monotone_is_right_and_linear_is_refused_where_it_forks() {
    let _present = require_device();
    for (seed, program) in programs() {
        for policy in [ArenaPolicy::Monotone, ArenaPolicy::Linear] {
            let memory = memory();
            let (session, outputs) = session(&memory, &program);
            let sum = program.sum();
            let linear = policy == ArenaPolicy::Linear;
            let arena = CudaArena::new(memory, sum, policy).unwrap();
            let prepared = session.prepare(arena).unwrap();
            let captured: Result<CapturedGraph, CaptureError> =
                prepared.capture((), |capture, ()| program.body(capture, &outputs));
            match captured {
                Ok(mut graph) => {
                    assert!(!linear || program.streams == 1, "seed {seed}: it forks");
                    let footprint = graph.footprint();
                    assert!(linear || footprint.peak == footprint.sum);
                    check_results(&mut graph, &program, &outputs, 2);
                }
                Err(error) => {
                    assert!(linear && program.streams > 1, "seed {seed}: {}", error_chain(&error));
                    let refused = matches!(
                        &error,
                        CaptureError::Memory(GraphMemoryError::ForkedCapture { .. })
                    );
                    assert!(refused, "{}", error_chain(&error));
                }
            }
        }
    }
}

/// Reusing memory in call order, as interval packing does, is wrong for captures that fork, and the
/// verifier refuses it every time.
#[test]
#[ignore = "needs a CUDA device"]
fn naive_reuse_is_refused_in_all_of_18_forked_captures() {
    let _present = require_device();
    for setting in generator::settings(24, false).filter(|setting| setting.streams > 1) {
        let program = Program::generated(&setting);
        let plan = program.planned_by_call_order();
        let memory = memory();
        let (session, outputs) = session(&memory, &program);
        let arena = CudaArena::new(memory, plan.peak(), ArenaPolicy::Planned(plan)).unwrap();
        let prepared = session.prepare(arena).unwrap();
        let captured: Result<CapturedGraph, CaptureError> =
            prepared.capture((), |capture, ()| program.body(capture, &outputs));
        let error = captured.expect_err("it races");
        let unordered = matches!(error, CaptureError::Unordered { .. });
        assert!(unordered, "{setting:?}: {}", error_chain(&error));
    }
}

#[test]
#[ignore = "needs a CUDA device"]
fn a_capture_that_leaves_its_plan() {
    let _present = require_device();
    let program = Program::random(7, 2, 80);
    let mut other = program.clone();
    let place = other.steps.iter().rposition(|step| matches!(step, Step::Use { .. })).unwrap();
    let removed = other.steps.remove(place);
    for divergence in [Divergence::Refuse, Divergence::FreshBytes] {
        let memory = memory();
        let (session, outputs) = session(&memory, &program);
        let probe = session.probe(&mut (), |capture, ()| program.body(capture, &outputs));
        let probe: Result<_, CaptureError> = probe;
        let probe = probe.unwrap().on_divergence(divergence);
        let prepared = session.planned(&probe).unwrap();
        let captured: Result<CapturedGraph, CaptureError> =
            prepared.capture((), |capture, ()| other.body(capture, &outputs));
        match divergence {
            // Omitting a use changes the trace.
            Divergence::Refuse => assert!(
                matches!(captured, Err(CaptureError::Diverged { .. })),
                "{removed:?}: {captured:?}"
            ),
            // Nothing outside the plan is needed.
            Divergence::FreshBytes => {
                check_results(&mut captured.unwrap(), &other, &outputs, 1);
            }
        }
    }
}
