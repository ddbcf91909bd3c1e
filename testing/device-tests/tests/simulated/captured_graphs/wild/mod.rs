//! Random bodies, both tame ones and ones with interference. They nest scopes, lend views, forget
//! objects, update with other blocks, and end and begin captures explicitly. Other threads
//! interfere in the middle of a call, and graphs on two streams share blocks. A tame body always
//! becomes a graph. Every graph runs without a race, a stale address or a leak, even after the
//! interfering memory was freed.

mod body;
mod meddler;
mod steps;

use std::collections::BTreeMap;
use std::sync::Arc;

use cuda_sim_control::{Settings, Simulator};
use cudarc::driver::CudaStream;
use pool_graph::{
    ArenaPolicy, CUDAGraphMemoryPool, CaptureError, CaptureSession, CapturedGraph, CudaArena,
    GraphMemoryBlock, PreparedCapture,
};

use crate::common::{BYTES, Made, memory, pool, stream};
use crate::records::round_trip;
use crate::shrink;
use crate::support::{start, start_anew};
use body::{State, body};
use meddler::Meddler;
use steps::{InBody, Meddling, Setup, Step};

/// The number of elements in each view.
const N: usize = 4096;

/// The objects of a program: two graphs on two streams each, the interference with their captures,
/// and the shared blocks.
struct World {
    setup: Setup,
    streams: [[Arc<CudaStream>; 2]; 2],
    pool: CUDAGraphMemoryPool,
    blocks: [GraphMemoryBlock; 3],
    graphs: [Option<CapturedGraph<State>>; 2],
    meddlers: Vec<Arc<Meddler>>,
}

impl World {
    fn new(setup: Setup) -> Self {
        let (streams, pool) = ([(); 2].map(|()| [stream(), stream()]), pool());
        let blocks = [(); 3].map(|()| pool.allocate(BYTES).unwrap());
        Self { setup, streams, pool, blocks, graphs: [None, None], meddlers: Vec::new() }
    }

    /// Captures a graph, or checks that it is refused. Either way, the same memory is used again.
    fn capture(&mut self, graph: usize, steps: Arc<[InBody]>) -> Result<(), CaptureError> {
        let [main, branch] = &self.streams[graph];
        let Setup { is_tame, forgets, is_apart, bodies } = self.setup;
        let leased = if is_apart { &self.blocks[graph..2] } else { &self.blocks[..] };
        let names: Vec<_> = leased.iter().map(GraphMemoryBlock::id).collect();
        let lease = self.pool.lease(&names).unwrap();
        let session = CaptureSession::new(main).unwrap().branch(branch).unwrap().lease(lease);
        let meddler = (!is_tame).then(|| Meddler::new([main, branch]));
        self.meddlers.extend(meddler.clone());
        let (setup, blocks) = (bodies[graph], self.blocks);
        let mut state = State { setup, forgets, steps, blocks, value: 1, meddler };
        let made = prepared(session, &state).and_then(|prepared| {
            let made = prepared.capture(state.clone(), body);
            if let Some(meddler) = state.meddler.take() {
                meddler.leave();
            }
            let again = prepared.capture(state, body);
            assert!(again.is_ok() || is_shared(&again), "captured once more: {again:?}");
            made
        });
        assert!(!is_tame || made.is_ok() || is_shared(&made), "of a tame body: {made:?}");
        let made = made?;
        check_record(&made);
        self.graphs[graph] = Some(made);
        Ok(())
    }

    fn take(&mut self, step: Step) {
        match step {
            // The capture performs these steps.
            Step::InBody { .. } => {}
            Step::Replay { graph } => {
                self.graphs[graph].iter_mut().for_each(|graph| graph.replay().unwrap());
            }
            Step::Update { graph, turned } => {
                let Some(graph) = &mut self.graphs[graph] else { return };
                let state = graph.state().unwrap();
                (state.value, state.meddler) = (2, None);
                state.blocks.rotate_left(usize::from(turned));
                // An ordering that other code adds is harmless: the graph contains it, but its
                // update does not.
                let is_join = |step: &InBody| matches!(step, InBody::Meddle(Meddling::Join { .. }));
                let is_joined = state.steps.iter().any(is_join);
                let updated = graph.update(body);
                let may_fail = turned || (is_joined && is_of_other_form(&updated));
                assert!(updated.is_ok() || may_fail, "with the same blocks: {updated:?}");
            }
            // If memory had become part of a graph without its capture noticing, that memory would
            // be freed here.
            Step::Leave => self.meddlers.clear(),
        }
    }
}

/// Checks the record of a graph after any interference: its problem can be read back, and its plan
/// is valid.
fn check_record(graph: &CapturedGraph<State>) {
    let footprint = graph.footprint();
    let Some(record) = graph.record() else {
        assert_eq!(footprint.sum, 0);
        return;
    };
    let record = round_trip(&record);
    let problem = record.problem();
    let sum: u64 = problem.buffers().iter().map(|buffer| buffer.size).sum();
    let bound = problem.clone().without_offsets().lower_bound().bytes;
    assert_eq!((sum, bound), (footprint.sum, footprint.lower_bound));
    if let Some(offsets) = record.offsets() {
        let peak = problem.validate(&offsets).unwrap();
        assert!(peak <= footprint.peak, "{peak} of {}", footprint.peak);
    }
}

fn prepared(session: CaptureSession, state: &State) -> Result<PreparedCapture, CaptureError> {
    if !state.setup.is_planned {
        let is_single = state.setup.is_single;
        let policy = if is_single { ArenaPolicy::Linear } else { ArenaPolicy::Monotone };
        let arena = CudaArena::new(memory(), 1 << 18, policy)?;
        if let Some(meddler) = &state.meddler {
            let stream = &meddler.streams[0];
            arena.install(stream)?;
            let other = CudaArena::on(stream).ok_or(CaptureError::ForeignView)?;
            other.clear(stream)?;
            let begin = arena.lease().ranges().next().map_or(0, |range| range.address);
            let _ = meddler.arena.set((other, begin));
        }
        return session.prepare(arena);
    }
    let options = pool_plan::Options { rounds: Some(10), ..pool_plan::Options::default() };
    let probe = session.probe_with(&options, &mut state.clone(), body)?;
    session.planned(&probe)
}

/// Returns `true` if a tame body may be refused for this reason, because the other graph uses the
/// block.
fn is_shared(made: &Made<State>) -> bool {
    matches!(made, Err(CaptureError::SharedBlock { .. }))
}

/// Returns `true` if the driver does not support this update of a graph.
fn is_of_other_form(updated: &Result<(), CaptureError>) -> bool {
    matches!(updated, Err(CaptureError::Update(_)))
}

/// The number of graphs, and the errors of the captures that were refused.
#[derive(Default)]
struct Outcomes {
    made: usize,
    refused: BTreeMap<String, usize>,
}

impl Outcomes {
    fn note(&mut self, made: &Result<(), CaptureError>) {
        let Err(error) = made else { return self.made += 1 };
        let name = format!("{error:?}");
        let name = name.split([' ', '(', '{']).next().unwrap_or_default().to_owned();
        *self.refused.entry(name).or_default() += 1;
    }
}

/// Runs a program of tame bodies that forget nothing. `arm` is called once the program's streams
/// and blocks exist.
pub(crate) fn run_tame(number: u64, arm: &dyn Fn()) {
    let setup = Setup { is_tame: true, forgets: false, ..Setup::of(number) };
    let is_tame = |step: &Step| !matches!(step, Step::InBody { step: InBody::Meddle(_), .. });
    let steps: Vec<Step> = Step::all_of(number).into_iter().filter(is_tame).collect();
    run(setup, &steps, &mut Outcomes::default(), arm);
}

/// Runs two graphs on two streams each with the same blocks. The graphs are replayed concurrently
/// and updated.
fn run(setup: Setup, steps: &[Step], outcomes: &mut Outcomes, arm: &dyn Fn()) {
    let mut world = World::new(setup);
    arm();
    for graph in 0..2 {
        let own = |step: &Step| match *step {
            Step::InBody { graph: of, step } if of == graph => Some(step),
            _ => None,
        };
        let captured = world.capture(graph, steps.iter().filter_map(own).collect());
        outcomes.note(&captured);
    }
    steps.iter().for_each(|step| world.take(*step));
    world.graphs.iter_mut().flatten().for_each(|graph| graph.synchronize().unwrap());
}

fn check(simulator: Simulator, setup: Setup) {
    if let Some(report) = simulator.reports().first() {
        panic!("{report}");
    }
    // Forgotten objects leak. So does a cudarc event that could not be destroyed because of an
    // invalidated capture.
    if setup.is_tame && !setup.forgets {
        let leaks = simulator.leaks();
        assert!(leaks.is_empty(), "leak: {leaks:?}");
    }
}

#[test]
#[ignore = "needs a process of its own: cargo xtask sim-test"]
fn random_bodies_that_are_meddled_with() {
    let simulator = start();
    let mut outcomes = Outcomes::default();
    let program = |number| (Setup::of(number), Step::all_of(number));
    let taken = shrink::run_programs(program, |number, setup, steps| {
        start_anew(simulator, Settings::default(), number);
        run(*setup, steps, &mut outcomes, &|| ());
        check(simulator, *setup);
    });
    let Outcomes { made, refused } = outcomes;
    println!("FIGURE: {made} graphs, {taken}; refused: {refused:?}");
    assert!(made > 0);
}
