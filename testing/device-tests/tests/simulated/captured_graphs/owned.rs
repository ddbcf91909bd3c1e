//! Memory that was allocated elsewhere and is owned by a session: weights that graphs read, and
//! state that each replay updates.

use std::collections::BTreeSet;
use std::ptr;
use std::sync::Arc;

use cuda_sim_control::{Mistake, Settings};
use cudarc::driver::{
    CudaFunction, CudaSlice, CudaStream, LaunchConfig, PushKernelArg, result, sys,
};
use pool_core::SharedPool;
use pool_cuda::{Cuda, CudaError, DeviceStream, Launch};
use pool_driver::versioned::capture_info;
use pool_graph::{
    ArenaPolicy, Capture, CaptureError, CaptureSession, CaptureStream, CaptureView, CapturedGraph,
    CudaArena, DeviceMemory, OwnedSlice, OwnedSliceMut,
};
use pool_kernels::elementwise;

use crate::common::{BYTES, Made, arena, byte, memory, pool, stream};
use crate::generator;
use crate::random::options;
use crate::support::{function, orders, start, start_anew};

/// The number of elements in each slice.
const N: usize = 512;

type Result<T = ()> = std::result::Result<T, CaptureError>;

fn context() -> Arc<cudarc::driver::CudaContext> {
    Cuda::device(0).unwrap().context().clone()
}

/// Returns a slice of ones, last written on a stream other than its own.
fn ones(own: &Arc<CudaStream>, writer: &Arc<CudaStream>) -> CudaSlice<f32> {
    let from = writer.clone_htod(&[1.0_f32; N]).unwrap();
    let mut slice = own.alloc_zeros(N).unwrap();
    writer.memcpy_dtod(&from, &mut slice).unwrap();
    slice
}

/// Computes `y += factor * x` on a stream of a capture.
fn add(stream: &CudaStream, axpy: &CudaFunction, factor: f32, x: u64, y: u64) -> Result {
    let count = N as u64;
    let mut launch = stream.launch_builder(axpy);
    launch.arg(&factor).arg(&x).arg(&y).arg(&count);
    // SAFETY: the arguments match `AXPY`, and the callers pass memory of `count` elements.
    unsafe { launch.launch(LaunchConfig::for_num_elems(64)) }?;
    Ok(())
}

/// The names and kernels that a body uses.
struct Names {
    weights: OwnedSlice<f32>,
    shared: OwnedSlice<f32>,
    array: OwnedSlice<f32>,
    cache: OwnedSliceMut<f32>,
    axpy: CudaFunction,
}

/// Computes `cache += weights + shared + 2 array` on two streams, with kernels and copies, in
/// enqueued work and in scopes.
fn body(capture: &Capture<'_>, names: &Names) -> Result {
    let (main, side) = (capture.main(), capture.branch(0)?);
    let weights = capture.owned(&names.weights)?;
    let mut cache = capture.owned_mut(&names.cache)?;
    let mut sum = capture.acquire::<f32>((side, N))?;
    capture.copy(side, &mut sum, &capture.owned(&names.shared)?)?;
    let (x, y) = (weights.address(), cache.address());
    // One operation uses the cache under two names.
    let again = capture.owned_mut(&names.cache)?;
    let uses = [weights.read(), again.read(), cache.write()];
    // SAFETY: the kernel reads `x` and writes `y`.
    unsafe { capture.enqueue(main, &uses, |stream| add(stream, &names.axpy, 1.0, x, y)) }?;
    let array = capture.owned(&names.array)?;
    {
        // The same memory is lent to two streams at the same time, together with a view of the
        // cache.
        let (here, there) =
            (capture.lend_shared(main, &array)?, capture.lend_shared(side, &array)?);
        let mut lent = capture.lend(main, &mut cache)?;
        let config = LaunchConfig::for_num_elems(64);
        capture.scope(side, |scope| {
            let mut copy = scope.try_acquire::<f32, _>(N)?;
            pool_core::PoolViewMut::copy_from(&mut copy, there.view()?)?;
            Result::Ok(())
        })?;
        capture.scope(main, |scope| {
            let mut launch = scope.launch(&names.axpy);
            let (from, mut to) = (here.view()?, lent.view_mut()?);
            launch.arg(&2.0_f32).arg(&from).arg(&mut to).arg(&(N as u64));
            // SAFETY: as above.
            unsafe { launch.launch(config) }?;
            Result::Ok(())
        })?;
    }
    let (x, y) = (sum.address(), cache.address());
    let uses = [sum.read(), cache.write()];
    // SAFETY: as above.
    unsafe { capture.enqueue(side, &uses, |stream| add(stream, &names.axpy, 1.0, x, y)) }
}

/// Replays while another stream reads the shared memory, updates the graph, and reads the cache.
fn replay(
    graph: &mut CapturedGraph<()>,
    names: &Names,
    shared: &Arc<CudaSlice<f32>>,
    other: &Arc<CudaStream>,
) {
    let mut expected = 1.0;
    for round in 0..4 {
        if round == 2 {
            graph.update(|capture, (): &mut ()| body(capture, names)).unwrap();
        }
        graph.replay().unwrap();
        assert_eq!(other.clone_dtoh(&**shared).unwrap(), [1.0; N]);
        expected += 4.0;
        let mut found = [0.0_f32; N];
        graph.read(&names.cache, &mut found).unwrap();
        assert_eq!(found, [expected; N]);
    }
    graph.write(&names.cache, &[0.0_f32; N]).unwrap();
    graph.replay().unwrap();
    let mut found = [0.0_f32; N];
    graph.read(&names.cache, &mut found).unwrap();
    assert_eq!(found, [4.0; N]);
    graph.read(&names.weights, &mut found).unwrap();
    assert_eq!(found, [1.0; N]);
}

#[test]
#[ignore = "needs a process of its own: cargo xtask sim-test"]
fn weights_and_a_cache_of_others_are_used_with_and_without_event_tracking() {
    let simulator = start();
    for seed in 0..orders() {
        start_anew(simulator, Settings::default(), seed);
        let context = context();
        let [one, two, other] = [(); 3].map(|()| stream());
        if seed % 2 == 1 {
            // SAFETY: the session or a single stream orders all uses of slices here.
            unsafe { context.disable_event_tracking() };
        }
        let axpy = function(&context, elementwise::MODULE, elementwise::AXPY.f32);
        let mut session = CaptureSession::new(&one).unwrap().branch(&two).unwrap();
        // The last writes are on other streams, and have not completed.
        let weights = session.own(ones(&other, &other)).unwrap();
        let shared = Arc::new(ones(&two, &two));
        let arrays = SharedPool::<Cuda>::new(DeviceStream::from_stream(other.clone()).unwrap());
        let array = session.own(arrays.take_from(&[1.0_f32; N])).unwrap();
        let cache = session.own_mut(ones(&one, &one)).unwrap();
        let owned = session.own(Arc::clone(&shared)).unwrap();
        let names = Names { weights, shared: owned, array, cache, axpy };
        assert_eq!((names.weights.len(), names.cache.is_empty()), (N, false));
        let body = |capture: &Capture<'_>, (): &mut ()| body(capture, &names);
        let probe = session.probe_with(&options(), &mut (), body).unwrap();
        let mut graph = session.planned(&probe).unwrap().capture((), body).unwrap();
        replay(&mut graph, &names, &shared, &other);
        assert_eq!(Arc::strong_count(&shared), 2);
        drop(graph);
        assert_eq!(Arc::strong_count(&shared), 1, "the graph has given it back");
        drop((shared, arrays, one, two, other, names));
        simulator.assert_clean();
        simulator.assert_no_leaks();
    }
}

/// The last write before a session owns the slice is on a stream that nothing else orders.
#[test]
#[ignore = "needs a process of its own: cargo xtask sim-test"]
fn earlier_writes_come_before_the_first_replay() {
    let simulator = start();
    for seed in 0..orders() {
        start_anew(simulator, Settings::default(), seed);
        let [one, own, writer] = [(); 3].map(|()| stream());
        // SAFETY: the session orders the uses of the slices here.
        unsafe { context().disable_event_tracking() };
        let mut session = CaptureSession::new(&one).unwrap();
        let state = own.alloc_zeros::<f32>(N).unwrap();
        own.synchronize().unwrap();
        let (mut weights, from) = (own.alloc_zeros::<f32>(N).unwrap(), [1.0_f32; N]);
        own.synchronize().unwrap();
        writer.memcpy_htod(&from, &mut weights).unwrap();
        let (weights, state) = (session.own(weights).unwrap(), session.own_mut(state).unwrap());
        let prepared = session.prepare(arena()).unwrap();
        let mut graph: CapturedGraph<()> = prepared
            .capture((), |capture, ()| {
                let from = capture.owned(&weights)?;
                capture.copy(capture.main(), &mut capture.owned_mut(&state)?, &from)
            })
            .unwrap();
        graph.replay().unwrap();
        let mut found = [0.0_f32; N];
        graph.read(&state, &mut found).unwrap();
        assert_eq!(found, from);
        drop((graph, prepared, one, own, writer));
        simulator.assert_clean();
        simulator.assert_no_leaks();
    }
}

/// A graph is dropped during the capture of another graph, on the stream on which its slices are
/// freed. The free would become part of that capture.
#[test]
#[ignore = "needs a process of its own: cargo xtask sim-test"]
fn what_a_graph_owned_is_not_freed_in_a_capture() {
    let simulator = start();
    let (one, weights) = (stream(), stream());
    let mut session = CaptureSession::new(&one).unwrap();
    let shared = Arc::new(ones(&one, &weights));
    let name = session.own(Arc::clone(&shared)).unwrap();
    let alone = session.own(ones(&one, &one)).unwrap();
    let body = |capture: &Capture<'_>, (): &mut ()| {
        let mut to = capture.acquire::<f32>(N)?;
        capture.copy(capture.main(), &mut to, &capture.owned(&name)?)?;
        capture.copy(capture.main(), &mut to, &capture.owned(&alone)?)
    };
    let mut graph: Option<CapturedGraph<()>> =
        Some(session.prepare(arena()).unwrap().capture((), body).unwrap());
    graph.as_mut().unwrap().replay().unwrap();
    let prepared = CaptureSession::new(&one).unwrap().prepare(arena()).unwrap();
    let made: Made = prepared.capture((), |capture, ()| {
        let mut to = capture.acquire::<f32>(N)?;
        drop(graph.take());
        assert_eq!(Arc::strong_count(&shared), 2, "not while a capture is under way");
        capture.fill_bytes(capture.main(), &mut to, 0)
    });
    made.unwrap().replay().unwrap();
    assert_eq!(Arc::strong_count(&shared), 1);
    drop((prepared, shared, one, weights));
    assert_eq!(Cuda::retry_deferred_frees(), 0);
    simulator.assert_clean();
    simulator.assert_no_leaks();
}

#[test]
#[ignore = "needs a process of its own: cargo xtask sim-test"]
fn what_a_session_cannot_own_or_use_is_refused() {
    let simulator = start();
    start_anew(simulator, Settings { devices: 2, ..Settings::default() }, 0);
    let [one, two] = [(); 2].map(|()| stream());
    let mut session = CaptureSession::new(&one).unwrap();
    // This slice belongs to another device.
    let elsewhere = Cuda::device(1).unwrap().context().new_stream().unwrap();
    let refused = session.own(elsewhere.alloc_zeros::<f32>(N).unwrap()).unwrap_err();
    assert_eq!(refused, CaptureError::WrongContext { session: 0, other: 1 });
    // The stream of this slice is captured.
    let slice = Arc::new(two.alloc_zeros::<f32>(N).unwrap());
    two.begin_capture(crate::common::RELAXED).unwrap();
    let refused = session.own(Arc::clone(&slice)).unwrap_err();
    assert!(matches!(refused, CaptureError::AlreadyCapturing { .. }), "{refused}");
    assert!(two.end_capture(crate::common::NO_FLAGS).is_ok());
    // First a session is capturing. Then the name of another session is used.
    let mut others = CaptureSession::new(&two).unwrap();
    let name = others.own(Arc::clone(&slice)).unwrap();
    let prepared = session.prepare(arena()).unwrap();
    let made: Made = prepared.capture((), |capture, ()| {
        let mut late = CaptureSession::new(&two)?;
        let refused = late.own(Arc::clone(&slice)).unwrap_err();
        let expected = matches!(refused, CaptureError::Driver(CudaError::Capturing { .. }));
        assert!(expected, "{refused}");
        capture.owned(&name).map(drop)
    });
    let bytes = 4 * N as u64;
    let error = made.map(drop).unwrap_err();
    assert!(matches!(error, CaptureError::NotOwned { bytes: found, .. } if found == bytes));
    assert!(error.to_string().contains("2048 bytes"), "{error}");
    drop((prepared, others, slice));
    simulator.assert_clean();
}

/// An enqueued fill writes memory that the session owns as read-only.
#[test]
#[ignore = "needs a process of its own: cargo xtask sim-test"]
fn a_fill_of_weights_is_refused() {
    let simulator = start();
    let one = stream();
    let mut session = CaptureSession::new(&one).unwrap();
    let weights = session.own(ones(&one, &one)).unwrap();
    let prepared = session.prepare(arena()).unwrap();
    let made: Made = prepared.capture((), |capture, ()| {
        let weights = capture.owned(&weights)?;
        let address = weights.address() + 4;
        let fill = |stream: &Arc<CudaStream>| {
            // SAFETY: the memory has this number of bytes. The verifier detects that it must not be
            // written.
            Ok(unsafe { result::memset_d8_async(address, 1, 8, stream.cu_stream()) }?)
        };
        // SAFETY: the capture fails, so no graph is created.
        unsafe { capture.enqueue(capture.main(), &[weights.read()], fill) }
    });
    let error = made.map(drop).unwrap_err();
    assert!(matches!(error, CaptureError::ReadOnly { bytes: 8, .. }), "{error}");
    simulator.assert_clean();
}

/// The node of a kernel does not reveal that the kernel writes weights. The simulator reports the
/// race with another reader.
#[test]
#[ignore = "needs a process of its own: cargo xtask sim-test"]
fn a_kernel_that_writes_weights_is_reported() {
    let simulator = start();
    for seed in 0..orders() {
        start_anew(simulator, Settings::default(), seed);
        let (one, other) = (stream(), stream());
        let axpy = function(one.context(), elementwise::MODULE, elementwise::AXPY.f32);
        let mut session = CaptureSession::new(&one).unwrap();
        let shared = Arc::new(ones(&one, &one));
        let weights = session.own(Arc::clone(&shared)).unwrap();
        let prepared = session.prepare(arena()).unwrap();
        let mut graph: CapturedGraph<()> = prepared
            .capture((), |capture, ()| {
                let weights = capture.owned(&weights)?;
                let (x, uses) = (weights.address(), [weights.read()]);
                // SAFETY: this violates the contract on purpose: the kernel writes memory that it
                // declares to read.
                unsafe {
                    capture.enqueue(capture.main(), &uses, |stream| add(stream, &axpy, 1.0, x, x))
                }
            })
            .unwrap();
        let mut copy = other.alloc_zeros::<f32>(N).unwrap();
        other.synchronize().unwrap();
        graph.replay().unwrap();
        other.memcpy_dtod(&*shared, &mut copy).unwrap();
        other.synchronize().unwrap();
        graph.synchronize().unwrap();
        let reports = simulator.reports();
        assert!(!reports.is_empty(), "seed {seed}: nothing is reported");
        for report in reports {
            assert_eq!(report.mistake(), Mistake::Race, "{report}");
        }
    }
}

/// Returns the number of random graphs, which is 40 times the number of captures that the other
/// random tests make for each number of streams.
fn graphs() -> usize {
    let number = std::env::var("POOL_GRAPH_CAPTURES").ok();
    40 * number.map_or(5, |number| number.parse::<usize>().unwrap())
}

/// Returns a short generated capture.
fn setting(number: usize) -> generator::Capture {
    generator::Capture {
        operations: 12 + number % 25,
        streams: [1, 2, 4, 8][number % 4],
        allocate: [0.2, 0.4][number / 4 % 2],
        free: [0.2, 0.4][number / 8 % 2],
        live_out: false,
        seed: 1 + number as u64,
    }
}

/// Foreign memory that a random graph uses: weights, both shared and exclusive, and state.
struct Foreign {
    weights: Vec<OwnedSlice<u8>>,
    states: Vec<OwnedSliceMut<u8>>,
}

/// A step that a random body performs for an operation of the generator. Numbers identify its
/// memory.
#[derive(Clone, Copy, Debug)]
enum Move {
    Wait { later: usize, earlier: usize },
    Take { on: usize },
    FromWeight { on: usize, weight: usize, temporary: usize },
    FromState { on: usize, state: usize, temporary: usize },
    ToState { on: usize, temporary: usize, state: usize },
    FillState { on: usize, state: usize, value: u8 },
    End { temporary: usize },
}

const WEIGHTS: usize = 3;
const STATES: usize = 3;

/// Returns the steps of a program. Each use of a temporary copies the temporary to a state, and
/// each definition copies from a weight or a state.
fn moves(setting: &generator::Capture) -> Vec<Move> {
    let mut random = fastrand::Rng::with_seed(setting.seed);
    let operations = setting.operations();
    let first = operations.first().map_or(0, |operation| operation.stream);
    // The other streams fork from the first stream.
    let renamed = |stream: usize| match stream {
        0 => first,
        _ if stream == first => 0,
        other => other,
    };
    let (mut moves, mut taken) = (Vec::new(), 0);
    for operation in operations {
        let on = renamed(operation.stream);
        moves
            .extend(operation.joins.map(|other| Move::Wait { later: on, earlier: renamed(other) }));
        for &temporary in &operation.uses {
            let state = random.usize(..STATES);
            moves.push(Move::ToState { on, temporary, state });
        }
        if operation.allocates.is_some() {
            moves.push(Move::Take { on });
            moves.push(match random.bool() {
                true => Move::FromWeight { on, weight: random.usize(..WEIGHTS), temporary: taken },
                false => Move::FromState { on, state: random.usize(..STATES), temporary: taken },
            });
            taken += 1;
        } else if random.u8(..3) == 0 {
            let (state, value) = (random.usize(..STATES), random.u8(..));
            moves.push(Move::FillState { on, state, value });
        }
        moves.extend(operation.frees.map(|temporary| Move::End { temporary }));
    }
    moves
}

/// Captures the steps.
fn take(capture: &Capture<'_>, moves: &[Move], foreign: &Foreign) -> Result {
    let name = |number: usize| -> Result<CaptureStream> {
        match number {
            0 => Ok(capture.main()),
            branch => capture.branch(branch - 1),
        }
    };
    let mut live = Vec::new();
    let state = |number: usize| capture.owned_mut(&foreign.states[number]);
    for one in moves {
        match *one {
            Move::Wait { later, earlier } => capture.wait(name(later)?, name(earlier)?)?,
            Move::Take { on } => live.push(Some(capture.acquire::<u8>((name(on)?, N))?)),
            Move::FromWeight { on, weight, temporary } => {
                let Some(to) = &mut live[temporary] else { continue };
                capture.copy(name(on)?, to, &capture.owned(&foreign.weights[weight])?)?;
            }
            Move::FromState { on, state: from, temporary } => {
                let Some(to) = &mut live[temporary] else { continue };
                capture.copy(name(on)?, to, &state(from)?)?;
            }
            Move::ToState { on, temporary, state: to } => {
                let Some(from) = &live[temporary] else { continue };
                capture.copy(name(on)?, &mut state(to)?, from)?;
            }
            Move::FillState { on, state: to, value } => {
                capture.fill_bytes(name(on)?, &mut state(to)?, value)?;
            }
            Move::End { temporary } => live[temporary] = None,
        }
    }
    Ok(())
}

/// Computes the values of the states after one run by executing the steps in sequence.
fn run_model(moves: &[Move], states: &mut [u8; STATES]) {
    let mut live: Vec<u8> = Vec::new();
    for one in moves {
        match *one {
            Move::Take { .. } => live.push(0),
            Move::FromWeight { weight, temporary, .. } => live[temporary] = 100 + byte(weight),
            Move::FromState { state, temporary, .. } => live[temporary] = states[state],
            Move::ToState { temporary, state, .. } => states[state] = live[temporary],
            Move::FillState { state, value, .. } => states[state] = value,
            Move::Wait { .. } | Move::End { .. } => {}
        }
    }
}

/// Returns a session with states, and with weights that other code also reads.
fn with_foreign(
    memory: &DeviceMemory,
    streams: usize,
) -> (CaptureSession, Foreign, Vec<Arc<CudaSlice<u8>>>) {
    let streams: Vec<Arc<CudaStream>> =
        (0..streams).map(|_| memory.context().new_stream().unwrap()).collect();
    let mut session = CaptureSession::new(&streams[0]).unwrap();
    for stream in &streams[1..] {
        session = session.branch(stream).unwrap();
    }
    let writer = memory.context().new_stream().unwrap();
    let of = |value: usize| Arc::new(writer.clone_htod(&[byte(value); N]).unwrap());
    let shared: Vec<_> = (0..WEIGHTS).map(|weight| of(100 + weight)).collect();
    let weights = shared.iter().map(|slice| session.own(Arc::clone(slice)).unwrap()).collect();
    let states = (0..STATES)
        .map(|state| session.own_mut(writer.clone_htod(&[byte(state); N]).unwrap()).unwrap())
        .collect();
    (session, Foreign { weights, states }, shared)
}

#[test]
#[ignore = "needs a process of its own: cargo xtask sim-test"]
fn random_graphs_with_owned_memory_do_not_race() {
    let simulator = start();
    let (mut planned, mut sharing) = (0, 0);
    for number in 0..graphs() {
        let setting = setting(number);
        start_anew(simulator, Settings::default(), setting.seed);
        let memory = memory();
        let (session, foreign, shared) = with_foreign(&memory, setting.streams);
        let moves = moves(&setting);
        let body = |capture: &Capture<'_>, (): &mut ()| take(capture, &moves, &foreign);
        let mut graph = if number % 2 == 0 {
            let probe = session.probe_with::<_, CaptureError>(&options(), &mut (), body).unwrap();
            planned += 1;
            session.planned(&probe).unwrap().capture((), body)
        } else {
            let arena = CudaArena::new(memory.clone(), 1 << 18, ArenaPolicy::Monotone).unwrap();
            session.prepare(arena).unwrap().capture((), body)
        }
        .unwrap();
        sharing += usize::from(graph.verified().sharing > 0);
        let reader = memory.context().new_stream().unwrap();
        let mut expected = [0, 1, 2];
        for _ in 0..2 {
            graph.replay().unwrap();
            // Other code reads the weights at the same time.
            let weight = number % WEIGHTS;
            let found = reader.clone_dtoh(&*shared[weight]).unwrap();
            assert_eq!(found, [100 + byte(weight); N]);
            run_model(&moves, &mut expected);
        }
        for (state, expected) in foreign.states.iter().zip(expected) {
            let mut found = [0_u8; N];
            graph.read(state, &mut found).unwrap();
            assert_eq!(found, [expected; N], "{setting:?}");
        }
        drop((graph, shared, reader, memory));
        simulator.assert_clean();
        simulator.assert_no_leaks();
    }
    println!(
        "FIGURE: {} random graphs with {WEIGHTS} owned weights and {STATES} owned states, {planned} of them planned: \
         0 reports; in {sharing} of them memory is used in turns",
        graphs()
    );
}

/// Returns the handles of a stream's last nodes in a capture.
fn frontier(stream: &CudaStream) -> Vec<u64> {
    // SAFETY: the stream is live, and the array is read before the next call on the stream.
    let info = unsafe { capture_info(stream.cu_stream()) }.unwrap();
    if info.count == 0 || info.nodes.is_null() {
        return Vec::new();
    }
    // SAFETY: as above.
    let nodes = unsafe { std::slice::from_raw_parts(info.nodes, info.count) };
    nodes.iter().map(|node| node.addr() as u64).collect()
}

/// The uses of one state by nodes: the node, and `true` for a write.
type Uses = Vec<(u64, bool)>;

/// Uses states on several streams with kernels, whose nodes do not reveal their memory. The nodes
/// are recorded.
fn states_alone(
    capture: &Capture<'_>,
    moves: &[Move],
    foreign: &Foreign,
    axpy: &CudaFunction,
    noted: &std::cell::RefCell<Vec<Uses>>,
) -> Result {
    let name = |number: usize| -> Result<CaptureStream> {
        match number {
            0 => Ok(capture.main()),
            branch => capture.branch(branch - 1),
        }
    };
    for one in moves {
        let (on, from, to) = match *one {
            Move::FromState { on, state, .. } => (on, Some(state), None),
            Move::ToState { on, state, temporary } => {
                (on, Some(temporary % STATES).filter(|from| *from != state), Some(state))
            }
            Move::FillState { on, state, .. } => (on, None, Some(state)),
            Move::Wait { later, earlier } => {
                capture.wait(name(later)?, name(earlier)?)?;
                continue;
            }
            _ => continue,
        };
        let mut views = Vec::new();
        for state in [from, to].into_iter().flatten() {
            views.push(capture.owned_mut(&foreign.states[state])?);
        }
        let addresses: Vec<u64> = views.iter().map(CaptureView::address).collect();
        let last = views.len() - 1;
        let writes = to.is_some();
        let uses: Vec<_> = views
            .iter_mut()
            .enumerate()
            .map(|(place, view)| if writes && place == last { view.write() } else { view.read() })
            .collect();
        let work = |stream: &Arc<CudaStream>| {
            // The kernel never runs.
            add(stream, axpy, 1.0, addresses[0], addresses[last])?;
            for node in frontier(stream) {
                from.into_iter().for_each(|state| noted.borrow_mut()[state].push((node, false)));
                to.into_iter().for_each(|state| noted.borrow_mut()[state].push((node, true)));
            }
            Ok(())
        };
        // SAFETY: no graph is run.
        unsafe { capture.enqueue(name(on)?, &uses, work) }?;
    }
    Ok(())
}

type Edge = (u64, u64);

/// Returns the edges of a graph.
fn edges(graph: sys::CUgraph) -> Vec<Edge> {
    let (none, mut count) = (ptr::null_mut(), 0);
    // SAFETY: the graph is live; without arrays, the driver only counts the edges.
    unsafe { sys::cuGraphGetEdges_v2(graph, none, none, ptr::null_mut(), &raw mut count) }
        .result()
        .unwrap();
    let (mut from, mut to) = (vec![ptr::null_mut(); count], vec![ptr::null_mut(); count]);
    // SAFETY: all fields are integers, for which all zeros is a valid value.
    let mut data: Vec<sys::CUgraphEdgeData> = vec![unsafe { std::mem::zeroed() }; count];
    let (sources, targets) = (from.as_mut_ptr(), to.as_mut_ptr());
    // SAFETY: the graph is live, and each array has `count` entries.
    unsafe { sys::cuGraphGetEdges_v2(graph, sources, targets, data.as_mut_ptr(), &raw mut count) }
        .result()
        .unwrap();
    let number = |node: sys::CUgraphNode| node.addr() as u64;
    from.into_iter().zip(to).map(|(from, to)| (number(from), number(to))).collect()
}

/// Removes an edge from a graph, or adds it again.
fn change(graph: sys::CUgraph, (from, to): Edge, adds: bool) {
    let node = |number: u64| ptr::without_provenance_mut(usize::try_from(number).unwrap());
    let (from, to): (sys::CUgraphNode, sys::CUgraphNode) = (node(from), node(to));
    // SAFETY: all fields are integers; all zeros is a valid value, which denotes an edge of full
    // completion.
    let data: sys::CUgraphEdgeData = unsafe { std::mem::zeroed() };
    let call =
        if adds { sys::cuGraphAddDependencies_v2 } else { sys::cuGraphRemoveDependencies_v2 };
    // SAFETY: the graph and its nodes are live, and each array has one entry.
    unsafe { call(graph, &raw const from, &raw const to, &raw const data, 1) }.result().unwrap();
}

/// Returns `true` if a path leads from one node to another.
fn reaches(edges: &[Edge], from: u64, to: u64) -> bool {
    let (mut open, mut seen) = (vec![from], BTreeSet::new());
    while let Some(node) = open.pop() {
        if node == to {
            return true;
        }
        if seen.insert(node) {
            open.extend(edges.iter().filter(|edge| edge.0 == node).map(|edge| edge.1));
        }
    }
    false
}

/// Returns `true` if every two uses of a state are ordered, unless both are reads.
fn is_ordered(edges: &[Edge], states: &[Uses]) -> bool {
    states.iter().all(|uses| {
        uses.iter().enumerate().all(|(place, &(one, writes))| {
            uses[place + 1..].iter().all(|&(other, other_writes)| {
                let conflict = one != other && (writes || other_writes);
                !conflict || reaches(edges, one, other)
            })
        })
    })
}

/// Removes each edge of random graphs in turn. The verifier must refuse exactly those graphs in
/// which two uses of a state are no longer ordered, according to an exhaustive search.
#[test]
#[ignore = "needs a process of its own: cargo xtask sim-test"]
fn every_missing_edge_between_uses_of_owned_memory_is_refused() {
    let simulator = start();
    let (mut refused, mut harmless) = (0, 0);
    for number in 0..graphs() / 4 {
        let setting = generator::Capture { streams: [2, 3, 4, 8][number % 4], ..setting(number) };
        start_anew(simulator, Settings::default(), setting.seed);
        let memory = memory();
        let axpy = function(memory.context(), elementwise::MODULE, elementwise::AXPY.f32);
        let (session, foreign, _shared) = with_foreign(&memory, setting.streams);
        let moves = moves(&setting);
        let noted = std::cell::RefCell::new(vec![Uses::new(); STATES]);
        let prepared = session.prepare(arena()).unwrap();
        let capture = prepared
            .capture_unverified::<_, CaptureError>(&mut (), |capture, ()| {
                states_alone(capture, &moves, &foreign, &axpy, &noted)
            })
            .unwrap();
        let states = noted.into_inner();
        let all = edges(capture.graph());
        assert!(is_ordered(&all, &states));
        capture.verify().unwrap();
        for place in 0..all.len() {
            let mut left = all.clone();
            let gone = left.remove(place);
            change(capture.graph(), gone, false);
            let verified = capture.verify();
            if is_ordered(&left, &states) {
                assert_eq!(verified.map(drop), Ok(()), "{setting:?}, without {gone:?}");
                harmless += 1;
            } else {
                let unordered = matches!(verified, Err(CaptureError::UnorderedUses { .. }));
                assert!(unordered, "{setting:?}, without {gone:?}: {verified:?}");
                refused += 1;
            }
            change(capture.graph(), gone, true);
        }
        capture.verify().unwrap();
        simulator.assert_clean();
    }
    println!(
        "FIGURE: edges removed between uses of owned memory: {refused} refused, {harmless} harmless"
    );
    assert!(refused > graphs() / 2, "{refused}");
}

/// A graph can use a slice in the same way as a block of a pool. One body may use both.
#[test]
#[ignore = "needs a process of its own: cargo xtask sim-test"]
fn graphs_beside_each_other_own_memory_of_their_own() {
    let simulator = start();
    for seed in 0..orders() {
        start_anew(simulator, Settings::default(), seed);
        let one = stream();
        let pool = pool();
        let block = pool.allocate(BYTES).unwrap();
        let copy = |weights: OwnedSlice<f32>| {
            move |capture: &Capture<'_>, (): &mut ()| -> Result {
                let mut temporary = capture.acquire::<f32>(N)?;
                capture.copy(capture.main(), &mut temporary, &capture.owned(&weights)?)?;
                let mut block = capture.block::<f32>(&block)?;
                let y = block.address();
                let (x, uses) = (temporary.address(), [temporary.read(), block.write()]);
                let copy = |stream: &Arc<CudaStream>| {
                    let bytes = 4 * N;
                    // SAFETY: both ranges have `bytes` bytes.
                    Ok(unsafe { result::memcpy_dtod_async(y, x, bytes, stream.cu_stream()) }?)
                };
                // SAFETY: the work reads one view and writes the other.
                unsafe { capture.enqueue(capture.main(), &uses, copy) }
            }
        };
        let session = || {
            let session = CaptureSession::new(&one).unwrap();
            session.lease(pool.lease(&[block.id()]).unwrap())
        };
        let (mut first, mut second) = (session(), session());
        let ones = copy(first.own(ones(&one, &one)).unwrap());
        let zeroes = copy(second.own(one.alloc_zeros::<f32>(N).unwrap()).unwrap());
        let probe = first.probe(&mut (), ones).unwrap();
        let mut first = first.planned(&probe).unwrap().capture((), ones).unwrap();
        let probe = second.probe(&mut (), zeroes).unwrap();
        let mut second = second.beside(&first, &probe).unwrap().capture((), zeroes).unwrap();
        let check = |graph: &mut CapturedGraph<()>, value: f32| {
            graph.replay().unwrap();
            let mut found = [7.0_f32; N];
            graph.read(&block, &mut found).unwrap();
            assert_eq!(found, [value; N]);
        };
        check(&mut first, 1.0);
        check(&mut second, 0.0);
        check(&mut first, 1.0);
        drop((first, second, pool));
        simulator.assert_clean();
    }
}
