//! Plan, capture, verify: random captures under the three policies.

use pool_graph::{
    ArenaPlan, ArenaPolicy, CaptureError, CapturedGraph, CudaArena, Divergence, GraphMemoryError,
    LayoutViolation,
};
use pool_plan::{Buffer, IntervalProblem, Options};

use crate::programs::{Program, Step, check_results, session};
use crate::{memory, require_device};

/// How many random captures of each number of streams.
fn captures() -> u64 {
    let number = std::env::var("POOL_GRAPH_CAPTURES").ok();
    number.map_or(6, |number| number.parse().unwrap())
}

/// Programs of 1, 2, 4 and 8 streams.
fn programs() -> impl Iterator<Item = (u64, Program)> {
    let of = |streams: usize| {
        (0..captures()).map(move |seed| (seed, Program::random(seed * 31 + 1, streams, 150)))
    };
    [1, 2, 4, 8].into_iter().flat_map(of)
}

#[test]
#[ignore = "needs a CUDA device"]
fn planned_captures_are_right_and_near_the_bound() {
    let _present = require_device();
    let mut ratios = Vec::new();
    for (seed, program) in programs() {
        let memory = memory();
        let (session, outputs) = session(&memory, &program);
        let probe = session.probe(&mut (), |capture, ()| program.body(capture, &outputs));
        let probe: pool_graph::Probe =
            probe.unwrap_or_else(|error: CaptureError| panic!("{error}"));
        let footprint = probe.footprint();
        assert_eq!(probe.temporaries(), program.sizes.len());
        assert_eq!(footprint.sum, program.sizes.iter().sum::<usize>() as u64);
        let prepared = session.planned(&probe).unwrap();
        let body = |capture: &pool_graph::Capture<'_>, (): &mut ()| program.body(capture, &outputs);
        let mut graph: CapturedGraph = prepared
            .capture((), body)
            .unwrap_or_else(|error: CaptureError| panic!("seed {seed}: {error}"));
        assert_eq!(graph.footprint(), footprint, "what was foreseen is what it is");
        assert!(graph.verified().sharing > 0 && graph.verified().accesses > 0);
        check_results(&mut graph, &program, &outputs, 3);
        ratios.push(footprint.ratio());
    }
    ratios.sort_by(f64::total_cmp);
    let median = ratios[ratios.len() / 2];
    let late = ratios[(ratios.len() * 99).div_ceil(100) - 1];
    println!("{} captures: median {median:.4}, 99th percentile {late:.4}", ratios.len());
    assert!(median <= 1.05 && late <= 1.15);
}

#[test]
#[ignore = "needs a CUDA device"]
fn monotone_is_right_and_linear_is_refused_where_it_forks() {
    let _present = require_device();
    for (seed, program) in programs().filter(|(seed, _)| seed % 3 == 0) {
        for policy in [ArenaPolicy::Monotone, ArenaPolicy::Linear] {
            let memory = memory();
            let (session, outputs) = session(&memory, &program);
            let sum = program.sizes.iter().sum::<usize>() as u64;
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
                    assert!(linear && program.streams > 1, "seed {seed}: {error}");
                    let refused = matches!(
                        &error,
                        CaptureError::Memory(GraphMemoryError::ForkedCapture { .. })
                    );
                    assert!(refused, "{error}");
                }
            }
        }
    }
}

/// Reuse by the order of calls, as interval packing does it: in captures that fork the verifier finds
/// it wrong, each time.
#[test]
#[ignore = "needs a CUDA device"]
fn naive_reuse_is_refused_in_all_of_18_forked_captures() {
    let _present = require_device();
    for streams in [2, 4, 8] {
        for seed in 0..6 {
            let program = Program::random(seed + 100, streams, 400);
            let mut ends = vec![(0, 0); program.sizes.len()];
            let mut taken = 0;
            for (time, step) in program.steps.iter().enumerate() {
                let time = i64::try_from(time).unwrap();
                match *step {
                    Step::Take { .. } => {
                        ends[taken].0 = time;
                        taken += 1;
                    }
                    Step::CopyOut { temporary, .. } => ends[temporary].1 = time,
                    Step::Use { .. } | Step::Wait { .. } => {}
                }
            }
            let buffer = |(number, (&(begin, end), &size)): (usize, (&(i64, i64), &usize))| {
                let mut buffer = Buffer::new(number.to_string(), begin, end, size as u64);
                buffer.alignment = 256;
                buffer
            };
            let buffers = ends.iter().zip(&program.sizes).enumerate().map(buffer).collect();
            let problem = IntervalProblem::new(buffers).unwrap();
            let plan = problem.solve(&Options::default()).unwrap();
            let plan = ArenaPlan::of_intervals(&problem, &plan).unwrap();
            let memory = memory();
            let (session, outputs) = session(&memory, &program);
            let arena = CudaArena::new(memory, plan.peak(), ArenaPolicy::Planned(plan)).unwrap();
            let prepared = session.prepare(arena).unwrap();
            let captured: Result<CapturedGraph, CaptureError> =
                prepared.capture((), |capture, ()| program.body(capture, &outputs));
            let error = captured.expect_err("it races");
            let unordered =
                matches!(error, CaptureError::Layout(LayoutViolation::Unordered { .. }));
            assert!(unordered, "{streams} streams, seed {seed}: {error}");
        }
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
            // One use less is another trace.
            Divergence::Refuse => assert!(
                matches!(captured, Err(CaptureError::Diverged { .. })),
                "{removed:?}: {captured:?}"
            ),
            // It needs nothing that the plan has not.
            Divergence::FreshBytes => {
                check_results(&mut captured.unwrap(), &other, &outputs, 1);
            }
        }
    }
}
