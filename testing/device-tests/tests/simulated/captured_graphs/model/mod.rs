//! Random bodies, and a naive model of the order in each of their graphs. The pool must accept a
//! graph if and only if the model accepts it. The bodies fork and join, lend views, open scopes on
//! branches, and use device views through cudarc on other streams. Their memory is planned by their
//! own probe, or by a plan that may be wrong.

mod body;
mod order;
mod steps;

use std::collections::BTreeMap;

use cuda_sim_control::{Settings, Simulator};
use pool_graph::{
    ArenaPlan, ArenaPolicy, CUDAGraphMemoryPool, Capture, CaptureError, CaptureSession, CudaArena,
    GraphPoolConfig, PreparedCapture, Probe,
};
use pool_kernels::elementwise;
use pool_plan::{Buffer, IntervalProblem, Options};

use crate::common::{memory, stream};
use crate::shrink;
use crate::support::{function, start, start_anew};
use body::{BLOCKS, Log, World, body};
use order::Order;
use steps::{Policy, Setup, Step};

/// The size of a granule in bytes. Regions begin at multiples of it.
const GRANULE: u64 = 256;

/// The verdicts on the bodies, for each policy.
#[derive(Clone, Copy, Debug, Default)]
struct Verdicts {
    accepted: usize,
    /// The number of accepted graphs in which regions share bytes.
    sharing: usize,
    refused: usize,
    /// The number of refused graphs in which nodes of the body conflict.
    clashing: usize,
}

impl World {
    fn new(setup: Setup) -> (Self, CaptureSession) {
        let streams: Vec<_> = (0..setup.streams).map(|_| stream()).collect();
        // The pool is small, so that it can be zeroed quickly for each program.
        let config = GraphPoolConfig { initial: 0, maximum: 4096 };
        let pool = CUDAGraphMemoryPool::with_config(memory(), config);
        let load = || function(streams[0].context(), elementwise::MODULE, elementwise::FILL.f32);
        let fill = setup.launches.then(load);
        let blocks = [(); BLOCKS].map(|()| pool.allocate(GRANULE).unwrap());
        let session = CaptureSession::new(&streams[0]).unwrap();
        let branch = |session: CaptureSession, stream| session.branch(stream).unwrap();
        let session = streams[1..].iter().fold(session, branch);
        let session = session.lease(pool.lease(&blocks.map(|block| block.id())).unwrap());
        (Self { streams, blocks, fill, forgets: setup.forgets }, session)
    }
}

/// Prepares a capture with the regions of the program's policy.
fn prepared(
    setup: Setup,
    session: CaptureSession,
    probe: &Probe,
    dry: &Log,
) -> Result<PreparedCapture, CaptureError> {
    let record = probe.record();
    let sizes: Vec<u64> =
        record.iter().flat_map(|record| record.problem().buffers()).map(|one| one.size).collect();
    let own = record.and_then(|record| record.offsets()).unwrap_or_default();
    let mut random = fastrand::Rng::with_seed(setup.seed);
    let offsets = match setup.policy {
        Policy::Own => return session.planned(probe),
        _ if sizes.is_empty() => return session.planned(probe),
        Policy::Monotone | Policy::Linear => {
            let is_linear = setup.policy == Policy::Linear;
            let policy = if is_linear { ArenaPolicy::Linear } else { ArenaPolicy::Monotone };
            return session.prepare(CudaArena::new(memory(), 1 << 16, policy)?);
        }
        Policy::CallOrder => by_call_order(dry, &sizes),
        Policy::Moved => {
            let mut offsets = own;
            let (from, to) = (random.usize(..offsets.len()), random.usize(..offsets.len()));
            offsets[from] = offsets[to];
            offsets
        }
        Policy::Anywhere => {
            let places = 2 * sizes.len() as u64;
            sizes.iter().map(|_| random.u64(..places) * GRANULE).collect()
        }
    };
    if is_one_block_twice(dry, &offsets) {
        return session.planned(probe);
    }
    let plan = plan(&offsets, &sizes);
    let bytes = plan.peak();
    session.prepare(CudaArena::new(memory(), bytes, ArenaPolicy::Planned(plan))?)
}

/// Returns `true` if a plan assigns the same address to two blocks of one pool. The pool identifies
/// its blocks by address, so it would not request the same blocks as in the dry run.
fn is_one_block_twice(dry: &Log, offsets: &[u64]) -> bool {
    let pools = dry.lives.iter().zip(offsets).filter_map(|(life, at)| Some((life.pool?, at)));
    let mut blocks: Vec<_> = pools.collect();
    blocks.sort_unstable();
    blocks.windows(2).any(|two| two[0] == two[1])
}

/// Places each region at the lowest address that no live view uses when the region is taken.
fn by_call_order(dry: &Log, sizes: &[u64]) -> Vec<u64> {
    let mut offsets: Vec<u64> = Vec::new();
    for (region, &size) in sizes.iter().enumerate() {
        let lives =
            |other: usize| dry.called_until[other].is_none_or(|end| end > dry.called_from[region]);
        let mut taken: Vec<_> = (0..region)
            .filter(|&other| lives(other))
            .map(|other| (offsets[other], sizes[other]))
            .collect();
        taken.sort_unstable();
        let place = taken.iter().fold(0, |place, &(offset, bytes)| {
            if offset >= place + size { place } else { place.max(offset + bytes) }
        });
        offsets.push(place);
    }
    offsets
}

/// Returns a plan with the given offsets. The planner accepts them because it receives lifetimes
/// that never overlap.
fn plan(offsets: &[u64], sizes: &[u64]) -> ArenaPlan {
    let buffer = |(number, &size): (usize, &u64)| {
        let begin = i64::try_from(number).unwrap();
        let mut buffer = Buffer::new(number.to_string(), begin, begin + 1, size);
        buffer.alignment = GRANULE;
        buffer
    };
    let problem = IntervalProblem::new(sizes.iter().enumerate().map(buffer).collect()).unwrap();
    let mut plan = problem.solve(&Options { rounds: Some(0), ..Options::default() }).unwrap();
    plan.offsets = offsets.to_vec();
    ArenaPlan::of_intervals(&problem, &plan).unwrap()
}

/// Captures a body, and checks that the pool's verdict on its graph is the same as the model's.
fn run(setup: Setup, steps: &[Step], verdicts: &mut BTreeMap<Policy, Verdicts>) {
    let (world, session) = World::new(setup);
    let mut dry = Log::default();
    let options = Options { rounds: Some(3), ..Options::default() };
    let on = |capture: &Capture<'_>, log: &mut Log| body(capture, &world, log, steps);
    let probe = session.probe_with(&options, &mut dry, on).unwrap();
    let prepared = prepared(setup, session, &probe, &dry).unwrap();
    let mut log = dry.to_follow();
    let made = prepared.capture_unverified(&mut log, on);
    let made = made.unwrap_or_else(|error| panic!("refused: {:?}: {error:?}", setup.policy));
    let sizes =
        probe.record().map(|record| record.problem().buffers().to_vec()).unwrap_or_default();
    assert_eq!(log.lives.len(), sizes.len());
    log.lives.iter_mut().zip(&sizes).for_each(|(life, buffer)| life.bytes = buffer.size);
    // SAFETY: the graph is live.
    let order = unsafe { Order::of(made.graph()) };
    check_uses(&order, &log);
    let (found, unordered) = (made.verify(), order.unordered(&log.lives));
    let verdict = verdicts.entry(setup.policy).or_default();
    match found {
        Ok(verified) if unordered.is_none() => {
            assert_eq!(order.clashing(&log.lives), None, "accepted");
            verdict.accepted += 1;
            verdict.sharing += usize::from(verified.sharing > 0);
        }
        Err(CaptureError::Unordered { .. }) if unordered.is_some() => {
            let is_right = matches!(setup.policy, Policy::Monotone | Policy::Linear | Policy::Own);
            assert!(!is_right, "a right plan: {unordered:?}");
            verdict.refused += 1;
            verdict.clashing += usize::from(order.clashing(&log.lives).is_some());
        }
        _ => {
            panic!("difference: the pool says {found:?}, the model {unordered:?}: {:#?}", log.lives)
        }
    }
}

/// Checks, for any plan, that the uses of each region and block are ordered among themselves, and
/// come after the region was taken.
fn check_uses(order: &Order, log: &Log) {
    let regions = log.lives.iter().map(|life| &life.uses);
    for uses in regions.chain(&log.blocks) {
        assert_eq!(order.race(uses), None, "race");
    }
    assert_eq!(order.early(&log.lives), None, "early");
}

#[test]
#[ignore = "needs a process of its own: cargo xtask sim-test"]
fn random_bodies_are_judged_as_a_naive_model_judges_them() {
    let simulator: Simulator = start();
    let mut verdicts = BTreeMap::new();
    let program = |number| (Setup::of(number), Step::all_of(number));
    let taken = shrink::run_programs(program, |number, &setup, steps| {
        start_anew(simulator, Settings::default(), number);
        run(setup, steps, &mut verdicts);
        assert!(simulator.reports().is_empty(), "report: {}", simulator.reports()[0]);
    });
    let sum = |of: fn(&Verdicts) -> usize| verdicts.values().map(of).sum::<usize>();
    println!(
        "FIGURE: {taken}: {} accepted ({} of them share bytes), {} refused ({} of them clash), 0 differences",
        sum(|one| one.accepted),
        sum(|one| one.sharing),
        sum(|one| one.refused),
        sum(|one| one.clashing)
    );
    println!("FIGURE: {verdicts:?}");
    let all = std::env::var_os("POOL_ATTACK_PROGRAM").is_none();
    assert!(!all || sum(|one| one.sharing) > 0 && sum(|one| one.clashing) > 0);
}
