//! Random captures of the planner's generator, under each policy, replayed in random orders under
//! the checkers. The same captures are replayed with reuse in call order, which the checkers must
//! report.

use std::collections::BTreeMap;
use std::ptr;

use cuda_sim_control::{Mistake, Settings, Simulator};
use cudarc::driver::{CudaStream, sys};
use pool_core::error_chain;
use pool_cuda::Cuda;
use pool_graph::{
    ArenaPolicy, Capture, CaptureError, CapturedGraph, CudaArena, DeviceMemory, GraphMemoryError,
    UnverifiedCapture,
};
use pool_plan::Options;

use crate::generator;
use crate::programs::{Kept, Program, Step, check_results, session};
use crate::support::{start, start_anew};

/// The number of replays of each capture, each in a different order.
const REPLAYS: usize = 3;
/// The number of forking captures with reuse in call order, and the number of orders for each.
const NAIVE: usize = 18;
const NAIVE_ORDERS: usize = 2;

/// Returns the number of captures for each number of streams, from the `POOL_GRAPH_CAPTURES`
/// variable; 5 by default.
fn captures() -> usize {
    let number = std::env::var("POOL_GRAPH_CAPTURES").ok();
    number.map_or(5, |number| number.parse().unwrap())
}

/// Runs each capture on a freshly started simulator, and checks for reports and leaks afterwards.
pub(crate) fn in_random_orders(mut check: impl FnMut(&DeviceMemory, &Program)) {
    let simulator = start();
    for setting in generator::settings(4 * captures(), false) {
        start_anew(simulator, Settings::default(), setting.seed);
        let memory = DeviceMemory::new(&Cuda::device(0).unwrap());
        check(&memory, &Program::generated(&setting));
        drop(memory);
        simulator.assert_clean();
        simulator.assert_no_leaks();
    }
}

/// Returns options. A plan within 1 % of the bound is sufficient, and the limit on rounds makes the
/// plan independent of the machine. Planning takes most of the time of these tests.
pub(crate) fn options() -> Options {
    Options { tolerance: 1.01, rounds: Some(10), ..Options::default() }
}

/// Returns a percentile of ascending numbers.
fn percentile(ascending: &[f64], hundredths: usize) -> f64 {
    ascending[(ascending.len() * hundredths).div_ceil(100).max(1) - 1]
}

#[test]
#[ignore = "needs a process of its own: cargo xtask sim-test"]
fn planned_captures_do_not_race_and_are_near_the_bound() {
    let (mut ratios, mut of_sum) = (Vec::new(), Vec::new());
    in_random_orders(|memory, program| {
        let (session, kept) = session(memory, program);
        let body = |capture: &Capture<'_>, (): &mut ()| program.body(capture, &kept);
        let probe = session.probe_with::<_, CaptureError>(&options(), &mut (), body).unwrap();
        let mut graph = session.planned(&probe).unwrap().capture((), body).unwrap();
        assert_eq!(graph.footprint(), probe.footprint(), "the prediction equals the capture");
        assert_eq!(probe.footprint().sum, program.sum());
        assert!(graph.verified().sharing > 0 && graph.verified().accesses > 0);
        check_results(&mut graph, program, &kept, REPLAYS);
        ratios.push(probe.footprint().ratio());
        of_sum.push(probe.footprint().peak as f64 / program.sum() as f64);
    });
    ratios.sort_by(f64::total_cmp);
    of_sum.sort_by(f64::total_cmp);
    let [median, late, worst] = [50, 99, 100].map(|part| percentile(&ratios, part));
    println!(
        "FIGURE: {} planned captures, {REPLAYS} replays of each, 0 races: {median:.4} of the exact \
         bound in the median, {late:.4} at the 99th percentile, {worst:.4} at worst; {:.3} of the \
         sum in the median",
        ratios.len(),
        percentile(&of_sum, 50)
    );
    assert!(median <= 1.05 && late <= 1.15, "{ratios:?}");
}

/// Captures with an arena that is as large as all temporaries together.
pub(crate) fn with_policy(
    memory: &DeviceMemory,
    program: &Program,
    policy: ArenaPolicy,
) -> (Result<CapturedGraph, CaptureError>, Kept) {
    let (session, kept) = session(memory, program);
    let arena = CudaArena::new(memory.clone(), program.sum(), policy).unwrap();
    let prepared = session.prepare(arena).unwrap();
    (prepared.capture((), |capture, ()| program.body(capture, &kept)), kept)
}

#[test]
#[ignore = "needs a process of its own: cargo xtask sim-test"]
fn monotone_captures_do_not_race() {
    let mut count = 0;
    in_random_orders(|memory, program| {
        let (graph, kept) = with_policy(memory, program, ArenaPolicy::Monotone);
        let mut graph = graph.unwrap();
        assert_eq!((graph.footprint().peak, graph.verified().sharing), (program.sum(), 0));
        check_results(&mut graph, program, &kept, REPLAYS);
        count += 1;
    });
    println!("FIGURE: {count} monotone captures, {REPLAYS} replays of each, 0 races");
}

/// Returns the number of bytes that an arena that rewinds needs, according to an independent model.
fn peak_of_rewinding(program: &Program) -> u64 {
    let (mut live, mut starts) = (BTreeMap::new(), Vec::new());
    let (mut top, mut peak) = (0, 0);
    for step in &program.steps {
        match *step {
            Step::Take { bytes, .. } => {
                live.insert(top, bytes as u64);
                starts.push(top);
                top += bytes as u64;
                peak = peak.max(top);
            }
            Step::End { temporary } => {
                live.remove(&starts[temporary]);
                top = live.last_key_value().map_or(0, |(start, bytes)| start + bytes);
            }
            _ => {}
        }
    }
    peak
}

#[test]
#[ignore = "needs a process of its own: cargo xtask sim-test"]
fn linear_captures_are_exact_in_one_row_and_refused_where_they_fork() {
    let (mut exact, mut below_sum, mut refused) = (0, 0, 0);
    in_random_orders(|memory, program| {
        let (graph, kept) = with_policy(memory, program, ArenaPolicy::Linear);
        match graph {
            Ok(mut graph) => {
                assert_eq!(program.streams, 1, "it forks");
                assert_eq!(graph.footprint().peak, peak_of_rewinding(program));
                check_results(&mut graph, program, &kept, REPLAYS);
                exact += 1;
                below_sum += usize::from(graph.footprint().peak < program.sum());
            }
            Err(CaptureError::Memory(GraphMemoryError::ForkedCapture { .. })) => {
                assert_ne!(program.streams, 1);
                refused += 1;
            }
            Err(error) => panic!("{}", error_chain(&error)),
        }
    });
    println!(
        "FIGURE: {exact} linear captures exact, {below_sum} of them below the sum, 0 races; \
         {refused} forked ones refused"
    );
    assert_eq!((exact, refused), (captures(), 3 * captures()));
    assert!(below_sum > 0, "no byte is used twice");
}

/// Captures without verification, with a plan in call order, as interval packing creates it.
fn naive(memory: &DeviceMemory, program: &Program) -> (UnverifiedCapture, Kept) {
    let (session, kept) = session(memory, program);
    let plan = program.planned_by_call_order();
    let bytes = plan.peak();
    let arena = CudaArena::new(memory.clone(), bytes, ArenaPolicy::Planned(plan)).unwrap();
    let prepared = session.prepare(arena).unwrap();
    let body = |capture: &Capture<'_>, (): &mut ()| program.body(capture, &kept);
    (prepared.capture_unverified::<_, CaptureError>(&mut (), body).unwrap(), kept)
}

/// Runs a graph without the verifier.
fn run(unverified: &UnverifiedCapture, stream: &CudaStream) {
    let mut executable = ptr::null_mut();
    // SAFETY: the graph is live, and the output variable outlives the call.
    unsafe { sys::cuGraphInstantiateWithFlags(&raw mut executable, unverified.graph(), 0) }
        .result()
        .unwrap();
    // SAFETY: the executable graph is new, and the arena and the blocks that it uses are live. Its
    // nodes may conflict, which the simulator must report.
    unsafe { sys::cuGraphLaunch(executable, stream.cu_stream()) }.result().unwrap();
    stream.synchronize().unwrap();
    // SAFETY: the executable graph has finished, and this is its last use.
    unsafe { sys::cuGraphExecDestroy(executable) }.result().unwrap();
}

/// Returns the number of reported races in a naive capture, and checks that there are no other
/// reports.
fn races(simulator: Simulator, setting: &generator::Capture, seed: u64) -> usize {
    start_anew(simulator, Settings::default(), seed);
    let memory = DeviceMemory::new(&Cuda::device(0).unwrap());
    let program = Program::generated(setting);
    let (unverified, kept) = naive(&memory, &program);
    let verified = unverified.verify();
    if setting.streams == 1 {
        assert!(verified.unwrap().sharing > 0);
    } else {
        let found = verified.unwrap_err();
        let unordered = matches!(found, CaptureError::Unordered { .. });
        assert!(unordered, "{found}");
    }
    run(&unverified, &memory.context().new_stream().unwrap());
    drop((unverified, kept));
    let reports = simulator.reports();
    reports.iter().for_each(|report| assert_eq!(report.mistake(), Mistake::Race, "{report}"));
    reports.len()
}

/// Checks that the checkers can fail. The race checker reports reuse in call order in all forking
/// captures, in every order, and the verifier refuses it. On one stream, both accept it.
#[test]
#[ignore = "needs a process of its own: cargo xtask sim-test"]
fn naive_reuse_races_in_all_of_18_forked_captures() {
    let simulator = start();
    let (mut linear, mut forked) = (0, Vec::new());
    for setting in generator::settings(4 * NAIVE / 3, false) {
        for seed in 0..NAIVE_ORDERS as u64 {
            let races = races(simulator, &setting, seed);
            if setting.streams == 1 {
                assert_eq!(races, 0, "{setting:?}");
                linear += 1;
            } else {
                assert!(races > 0, "nothing is reported: {setting:?}, seed {seed}");
                forked.push(races);
            }
        }
    }
    assert_eq!((linear, forked.len()), (NAIVE / 3 * NAIVE_ORDERS, NAIVE * NAIVE_ORDERS));
    let (fewest, most) = (forked.iter().min().unwrap(), forked.iter().max().unwrap());
    println!(
        "FIGURE: naive reuse: {NAIVE} of {NAIVE} forked captures reported in each of {NAIVE_ORDERS} \
         orders, with {fewest} to {most} races; {} on one stream, none reported",
        NAIVE / 3
    );
}
