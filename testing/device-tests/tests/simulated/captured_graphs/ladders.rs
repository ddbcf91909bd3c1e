//! Ladders: one plan for graphs that differ in a length, captured in any order in one arena, with an eager phase in the same
//! memory.

use std::sync::Arc;

use cuda_sim_control::Settings;
use cudarc::driver::CudaStream;
use pool_core::{PoolView, PoolViewMut};
use pool_graph::{
    CUDAGraphMemoryPool, Capture, CaptureError, CaptureSession, CapturedGraph, GraphMemoryBlock,
    Probe,
};

use crate::common::{byte, pool, stream};
use crate::random::options;
use crate::support::{start, start_anew};

type Result<T = ()> = std::result::Result<T, CaptureError>;

/// The width of the model.
const WIDTH: usize = 64;
/// The lengths of the ladder.
const LENGTHS: [usize; 4] = [16, 64, 128, 256];

/// A block of a transformer, as its allocations: two layers on two streams, of a length.
fn body(capture: &Capture<'_>, block: &GraphMemoryBlock, length: usize) -> Result {
    let (main, side) = (capture.main(), capture.branch(0)?);
    let mut hidden = capture.acquire::<f32>(length * WIDTH)?;
    capture.fill_bytes(main, &mut hidden, 1)?;
    for _ in 0..2 {
        let [mut query, mut key] =
            [capture.acquire::<f32>(length * WIDTH)?, capture.acquire((side, length * WIDTH))?];
        capture.copy(main, &mut query, &hidden)?;
        capture.copy(side, &mut key, &hidden)?;
        let mut scores = capture.acquire::<f32>(length * length)?;
        capture.fill_bytes(main, &mut scores, 1)?;
        let mut probabilities = capture.acquire::<f32>(length * length)?;
        capture.copy(main, &mut probabilities, &scores)?;
        drop(scores);
        let mut attended = capture.acquire::<f32>(length * WIDTH)?;
        capture.copy(main, &mut attended, &key)?;
        drop((probabilities, query, key));
        let mut wide = capture.acquire::<f32>(4 * length * WIDTH)?;
        capture.fill_bytes(main, &mut wide, 1)?;
        let mut gate = capture.acquire::<f32>((side, 4 * length * WIDTH))?;
        capture.fill_bytes(side, &mut gate, 1)?;
        capture.copy(main, &mut wide, &gate)?;
        drop((wide, gate));
        let mut next = capture.acquire::<f32>(length * WIDTH)?;
        capture.copy(main, &mut next, &attended)?;
        hidden = next;
    }
    // Memory that must last has the same length for each member.
    let mut last = capture.acquire::<f32>(WIDTH)?;
    capture.fill_bytes(main, &mut last, byte(length / 16))?;
    capture.copy(main, &mut capture.block::<f32>(block)?, &last)
}

fn session(
    streams: &[Arc<CudaStream>; 2],
    pool: &CUDAGraphMemoryPool,
    block: &GraphMemoryBlock,
) -> CaptureSession {
    let session = CaptureSession::new(&streams[0]).unwrap().branch(&streams[1]).unwrap();
    session.lease(pool.lease(&[block.id()]).unwrap())
}

/// Replays each graph in turn and checks its results, with an eager phase between.
fn run(graphs: &mut [CapturedGraph<usize>], block: &GraphMemoryBlock) {
    for round in 0..2 {
        for graph in &mut *graphs {
            graph.replay().unwrap();
            let mut found = [0_u8; 4 * WIDTH];
            graph.read(block, &mut found).unwrap();
            let length = *graph.state().unwrap();
            assert_eq!(found, [byte(length / 16); 4 * WIDTH]);
        }
        let eager = graphs[round].scope(|scope| {
            let mut logits = scope.try_acquire_zeroed::<f32, _>(50_000)?;
            let mut sorted = scope.try_acquire::<f32, _>(50_000)?;
            logits.fill_with_value(2.0)?;
            sorted.copy_from(logits.as_view())?;
            Ok::<_, CaptureError>(sorted.copy_to_vec()?)
        });
        assert_eq!(eager.unwrap(), vec![2.0; 50_000]);
    }
}

fn free_bytes() -> u64 {
    cudarc::driver::result::mem_get_info().unwrap().0 as u64
}

#[test]
#[ignore = "needs a process of its own: cargo xtask sim-test"]
fn a_ladder_and_an_eager_phase_need_the_largest_graphs_bytes() {
    let simulator = start();
    let orders: [[usize; 4]; 4] = [[0, 1, 2, 3], [3, 2, 1, 0], [2, 0, 3, 1], [1, 3, 0, 2]];
    let mut printed = String::new();
    for (seed, order) in orders.into_iter().enumerate() {
        start_anew(simulator, Settings::default(), seed as u64);
        let (streams, pool) = ([stream(), stream()], pool());
        let block = pool.allocate(4 * WIDTH as u64).unwrap();
        let run_body = |capture: &Capture<'_>, length: &mut usize| body(capture, &block, *length);
        let mut lengths = LENGTHS;
        let probes = session(&streams, &pool, &block)
            .probe_ladder(&options(), &mut lengths, run_body)
            .unwrap();
        check_bounds(&probes);
        let before = free_bytes();
        let mut graphs: Vec<CapturedGraph<usize>> = Vec::new();
        for member in order {
            let (session, probe) = (session(&streams, &pool, &block), &probes[member]);
            let prepared = match graphs.first() {
                None => session.planned(probe).unwrap(),
                Some(first) => session.beside(first, probe).unwrap(),
            };
            let graph = prepared.capture(LENGTHS[member], run_body).unwrap();
            assert_eq!(graph.footprint(), probe.footprint());
            graphs.push(graph);
        }
        run(&mut graphs, &block);
        let footprints: Vec<_> = probes.iter().map(Probe::footprint).collect();
        let bound = footprints.iter().map(|one| one.lower_bound).max().unwrap();
        // The simulated device allocates memory in pages.
        let arena = graphs[0].idle_bytes();
        let device = before - free_bytes();
        let lasting = block.size();
        let bytes = arena + lasting;
        assert!(bytes as f64 <= 1.02 * bound as f64 + lasting as f64, "{bytes} of {bound}");
        let apart: u64 = footprints.iter().map(|one| one.peak).sum();
        let of_sums: u64 = footprints.iter().map(|one| one.sum).sum();
        let eager = 2 * 200_000_u64.next_multiple_of(256);
        printed = format!(
            "FIGURE: a ladder of {LENGTHS:?} with an eager phase: {bytes} bytes with what must last, of an exact bound of \
             {bound}; {device} taken of the device; an arena for each graph and a pool for the eager phase {}; the sum of \
             all temporaries {of_sums}",
            apart + eager + lasting
        );
        assert!(bytes < apart + eager + lasting);
        drop((graphs, pool, streams));
        simulator.assert_clean();
        simulator.assert_no_leaks();
    }
    println!("{printed}");
}

/// The plan of each member is near its own bound.
fn check_bounds(probes: &[Probe]) {
    let bytes: Vec<u64> = probes.iter().map(Probe::arena_bytes).collect();
    assert!(bytes.iter().all(|&one| one == bytes[0]), "one arena for all: {bytes:?}");
    for (length, probe) in LENGTHS.iter().zip(probes) {
        let footprint = probe.footprint();
        assert!(footprint.peak <= bytes[0]);
        assert!(footprint.ratio() <= 1.02, "length {length}: {footprint}");
    }
}

/// Without a ladder the smaller graph, captured first, has an arena that is too small for the larger one.
#[test]
#[ignore = "needs a process of its own: cargo xtask sim-test"]
fn without_a_ladder_the_larger_graph_is_refused() {
    let simulator = start();
    let (streams, pool) = ([stream(), stream()], pool());
    let block = pool.allocate(4 * WIDTH as u64).unwrap();
    let of_length =
        |length: usize| move |capture: &Capture<'_>, (): &mut ()| body(capture, &block, length);
    let own = session(&streams, &pool, &block);
    let small = own.probe_with::<_, CaptureError>(&options(), &mut (), of_length(16)).unwrap();
    let first: CapturedGraph<()> = own.planned(&small).unwrap().capture((), of_length(16)).unwrap();
    let own = session(&streams, &pool, &block);
    let large = own.probe_with::<_, CaptureError>(&options(), &mut (), of_length(256)).unwrap();
    let error = own.beside(&first, &large).map(drop).unwrap_err();
    assert!(error.to_string().contains("probe_ladder"), "{error}");
    drop((first, pool, streams));
    simulator.assert_clean();
}
