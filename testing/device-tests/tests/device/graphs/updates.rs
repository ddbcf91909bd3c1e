//! Updates of captured graphs: replays use the old parameters before an update and the new ones
//! afterwards, and refused updates change nothing.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use cudarc::driver::{CudaFunction, CudaStream, LaunchConfig, PushKernelArg, result};
use cudarc::nvrtc::Ptx;
use pool_core::PoolViewMut;
use pool_cuda::Cuda;
use pool_graph::{
    ArenaPolicy, CUDAGraphMemoryPool, Capture, CaptureError, CaptureSession, CapturedGraph,
    CudaArena, GraphMemoryBlock, GraphMemoryError, HostArgument, NodeKind, UpdateReason,
};
use pool_kernels::elementwise;

use crate::graphs::{arena, pool, stream};
use crate::steps::{Axpy, Ends, N, assert_same_bits, input};
use crate::{memory, require_device};

const COUNT: usize = 300;

/// A stream, a block that graphs use, and a kernel.
struct Place {
    stream: Arc<CudaStream>,
    pool: CUDAGraphMemoryPool,
    numbers: GraphMemoryBlock,
    scale: CudaFunction,
}

/// The graph's state, which contains the parameters of the body.
#[derive(Clone, Debug)]
struct Wanted {
    factor: f64,
    /// The number of kernel launches.
    launches: usize,
    /// `true` to fill with zeros instead of launching the kernel.
    fills: bool,
    /// The number of elements in a temporary.
    temporary: usize,
    fails: bool,
    panics: bool,
}

impl Wanted {
    fn factor(factor: f64) -> Self {
        Self { factor, launches: 1, fills: false, temporary: 100, fails: false, panics: false }
    }
}

impl Place {
    fn new() -> Self {
        let device = Cuda::device(0).unwrap();
        let module = Ptx::from_src(elementwise::MODULE.text());
        let module = device.context().load_module(module).unwrap();
        let scale = module.load_function(elementwise::SCALE.f64).unwrap();
        let (stream, pool) = (stream(), pool());
        let numbers = pool.allocate((COUNT * size_of::<f64>()) as u64).unwrap();
        Self { stream, pool, numbers, scale }
    }

    fn session(&self) -> CaptureSession {
        let lease = self.pool.lease(&[self.numbers.id()]).unwrap();
        CaptureSession::new(&self.stream).unwrap().lease(lease)
    }

    /// Returns a graph that multiplies the numbers, with its own arena.
    fn graph(&self, wanted: Wanted) -> CapturedGraph<Wanted> {
        let prepared = self.session().prepare(arena()).unwrap();
        prepared.capture(wanted, |capture, wanted: &mut Wanted| self.body(capture, wanted)).unwrap()
    }

    /// Acquires a temporary, fills it, and multiplies the numbers by the factor.
    fn body(&self, capture: &Capture<'_>, wanted: &Wanted) -> Result<(), CaptureError> {
        let mut scratch = capture.acquire::<f64>(wanted.temporary)?;
        capture.fill_bytes(capture.main(), &mut scratch, 1)?;
        let mut numbers = capture.block::<f64>(&self.numbers)?;
        let at = numbers.address();
        let work = |stream: &Arc<CudaStream>| self.work(stream, at, wanted);
        // SAFETY: the work writes only the numbers, on this stream.
        unsafe { capture.enqueue(capture.main(), &[numbers.write()], work) }?;
        assert!(!wanted.panics, "as it should");
        if wanted.fails { Err(CaptureError::ForeignView) } else { Ok(()) }
    }

    fn work(&self, stream: &Arc<CudaStream>, at: u64, wanted: &Wanted) -> Result<(), CaptureError> {
        if wanted.fills {
            // SAFETY: the block contains `8 * COUNT` bytes.
            return Ok(unsafe { result::memset_d8_async(at, 0, 8 * COUNT, stream.cu_stream()) }?);
        }
        let (count, factor) = (COUNT as u64, wanted.factor);
        for _ in 0..wanted.launches {
            let config = LaunchConfig::for_num_elems(u32::try_from(COUNT).unwrap());
            let mut launch = stream.launch_builder(&self.scale);
            launch.arg(&factor).arg(&at).arg(&count);
            // SAFETY: the arguments match `SCALE`, and the block has `COUNT` elements.
            unsafe { launch.launch(config) }?;
        }
        Ok(())
    }

    fn update(
        &self,
        graph: &mut CapturedGraph<Wanted>,
        wanted: Wanted,
    ) -> Result<(), CaptureError> {
        *graph.state()? = wanted;
        graph.update(|capture, wanted: &mut Wanted| self.body(capture, wanted))
    }

    fn start(&self, graph: &mut CapturedGraph<Wanted>) {
        graph.write(&self.numbers, &[1.0; COUNT]).unwrap();
    }

    /// Checks that one replay, starting with ones, multiplies by this factor.
    fn multiplies_by(&self, graph: &mut CapturedGraph<Wanted>, factor: f64) {
        self.start(graph);
        graph.replay().unwrap();
        self.numbers_are(graph, factor);
    }

    fn numbers_are(&self, graph: &mut CapturedGraph<Wanted>, expected: f64) {
        let mut numbers = [0.0; COUNT];
        graph.read(&self.numbers, &mut numbers).unwrap();
        assert_eq!(numbers, [expected; COUNT]);
    }
}

#[test]
#[ignore = "needs a CUDA device"]
fn replays_before_an_update_use_the_old_scalar_those_after_it_the_new_one() {
    let _present = require_device();
    let place = Place::new();
    let mut graph = place.graph(Wanted::factor(2.0));
    let (footprint, verified) = (graph.footprint(), graph.verified());
    place.start(&mut graph);
    let mut expected = 1.0;
    for factor in [3.0, 5.0, 0.25, 7.0] {
        let before = graph.state().unwrap().factor;
        // These replays are running during the update.
        for _ in 0..3 {
            graph.replay().unwrap();
            expected *= before;
        }
        place.update(&mut graph, Wanted::factor(factor)).unwrap();
        graph.replay().unwrap();
        expected *= factor;
        place.numbers_are(&mut graph, expected);
    }
    assert_eq!((graph.footprint(), graph.verified()), (footprint, verified));
    assert_eq!(graph.into_state().unwrap().factor, 7.0);
}

/// After any refusal, at any time, the graph works as before and can be updated.
#[test]
#[ignore = "needs a CUDA device"]
fn a_refused_update_leaves_the_graph_as_it_was() {
    let _present = require_device();
    let place = Place::new();
    let mut graph = place.graph(Wanted::factor(2.0));
    let other = Wanted::factor(11.0);
    let topology = (UpdateReason::TopologyChanged, None);
    let kind = (UpdateReason::NodeTypeChanged, Some(NodeKind::Fill));
    for (wanted, expected) in [
        (Wanted { launches: 2, ..other.clone() }, topology),
        (Wanted { launches: 0, ..other.clone() }, topology),
        (Wanted { fills: true, ..other.clone() }, kind),
    ] {
        let refused = place.update(&mut graph, wanted);
        let Err(CaptureError::Update(refused)) = refused else { panic!("{refused:?}") };
        assert_eq!((refused.reason, refused.node), expected, "{refused}");
        place.multiplies_by(&mut graph, 2.0);
    }
    let more = Wanted { temporary: 1000, ..other.clone() };
    let refused = place.update(&mut graph, more);
    assert_eq!(refused, Err(CaptureError::Diverged { step: 1, planned: 3 }));
    place.multiplies_by(&mut graph, 2.0);
    let refused = place.update(&mut graph, Wanted { fails: true, ..other.clone() });
    assert_eq!(refused, Err(CaptureError::ForeignView));
    place.multiplies_by(&mut graph, 2.0);
    let nothing = graph.update(|_, _| Ok::<(), CaptureError>(()));
    assert_eq!(nothing, Err(CaptureError::Diverged { step: 1, planned: 3 }));
    place.multiplies_by(&mut graph, 2.0);
    let panics = Wanted { panics: true, ..other.clone() };
    let run = AssertUnwindSafe(|| place.update(&mut graph, panics));
    assert!(catch_unwind(run).is_err());
    place.multiplies_by(&mut graph, 2.0);
    place.update(&mut graph, other).unwrap();
    place.multiplies_by(&mut graph, 11.0);
}

#[test]
#[ignore = "needs a CUDA device"]
fn an_update_is_no_part_of_another_capture_and_no_use_of_a_reset_arena() {
    let _present = require_device();
    let place = Place::new();
    let arena = arena();
    arena.install(&place.stream).unwrap();
    let second = CudaArena::on(&place.stream).unwrap();
    second.clear(&place.stream).unwrap();
    let prepared = place.session().prepare(arena).unwrap();
    let body = |capture: &Capture<'_>, wanted: &mut Wanted| place.body(capture, wanted);
    let mut graph = prepared.capture(Wanted::factor(2.0), body).unwrap();
    let numbers = second.stats();
    let other: Result<CapturedGraph, CaptureError> = prepared.capture((), |_, ()| {
        let refused = graph.update(body);
        assert_eq!(refused, Err(CaptureError::Capturing { operation: "be updated" }));
        Ok(())
    });
    drop(other.unwrap());
    place.update(&mut graph, Wanted::factor(3.0)).unwrap();
    place.multiplies_by(&mut graph, 3.0);
    // The other graph used no memory, because the update returned its second request.
    assert!(second.stats().live_regions == 0 && numbers.sum_bytes > 0);
    second.reset();
    let stale = GraphMemoryError::StaleLease { leased: 0, current: 1 };
    assert_eq!(graph.update(body), Err(CaptureError::Memory(stale)));
}

#[test]
#[ignore = "needs a CUDA device"]
fn one_of_two_graphs_of_an_arena_is_updated() {
    let _present = require_device();
    let place = Place::new();
    let body = |capture: &Capture<'_>, wanted: &mut Wanted| place.body(capture, wanted);
    let session = place.session();
    let probe = session.probe(&mut Wanted::factor(1.0), body).unwrap();
    let planned = session.planned(&probe).unwrap();
    let first = planned.capture(Wanted::factor(2.0), body).unwrap();
    let beside = place.session().beside(&first, &probe).unwrap();
    let second = beside.capture(Wanted::factor(3.0), body).unwrap();
    drop((planned, beside));
    let mut graphs = [first, second];
    let mut factors = [2.0, 3.0];
    for round in 0_u8..8 {
        let which = usize::from(round % 3) % 2;
        factors[which] = f64::from(round) + 4.0;
        place.update(&mut graphs[which], Wanted::factor(factors[which])).unwrap();
        for (graph, &factor) in graphs.iter_mut().zip(&factors) {
            place.multiplies_by(graph, factor);
        }
    }
    let [first, mut second] = graphs;
    drop(first);
    place.update(&mut second, Wanted::factor(99.0)).unwrap();
    place.multiplies_by(&mut second, 99.0);
}

/// Copies from the host use the values of the last successful update.
#[test]
#[ignore = "needs a CUDA device"]
fn host_arguments_are_those_of_the_last_update() {
    struct Input {
        value: u8,
        fails: bool,
        argument: Option<HostArgument>,
    }
    let _present = require_device();
    let place = Place::new();
    let body = |capture: &Capture<'_>, input: &mut Input| {
        let mut scratch = capture.acquire::<u8>(8 * COUNT)?;
        let argument =
            capture.copy_from_host(capture.main(), &mut scratch, &[input.value; 8 * COUNT])?;
        input.argument.get_or_insert(argument);
        capture.copy(capture.main(), &mut capture.block(&place.numbers)?, &scratch)?;
        if input.fails { Err(CaptureError::ForeignView) } else { Ok(()) }
    };
    let copies = |graph: &mut CapturedGraph<Input>, value: u8| {
        graph.write(&place.numbers, &[0_u8; 8 * COUNT]).unwrap();
        graph.replay().unwrap();
        let mut bytes = [0; 8 * COUNT];
        graph.read(&place.numbers, &mut bytes).unwrap();
        assert_eq!(bytes, [value; 8 * COUNT]);
    };
    let prepared = place.session().prepare(arena()).unwrap();
    let state = Input { value: 1, fails: false, argument: None };
    let mut graph: CapturedGraph<Input> = prepared.capture(state, body).unwrap();
    copies(&mut graph, 1);
    graph.state().unwrap().value = 2;
    graph.update(body).unwrap();
    copies(&mut graph, 2);
    let argument = graph.state().unwrap().argument.unwrap();
    graph.set_argument(argument, &[3_u8; 8 * COUNT]).unwrap();
    copies(&mut graph, 3);
    let state = graph.state().unwrap();
    (state.value, state.fails) = (4, true);
    assert_eq!(graph.update(body), Err(CaptureError::ForeignView));
    copies(&mut graph, 3);
}

/// If an arena rewinds in the order of drops, an update must repeat that order.
#[test]
#[ignore = "needs a CUDA device"]
fn temporaries_that_would_move_are_refused() {
    let _present = require_device();
    let place = Place::new();
    let body = |capture: &Capture<'_>, top_first: &mut bool| {
        let main = capture.main();
        let (mut first, mut top) = (capture.acquire::<u8>(512)?, capture.acquire::<u8>(256)?);
        capture.fill_bytes(main, &mut first, 1)?;
        capture.fill_bytes(main, &mut top, 2)?;
        drop(if *top_first { top } else { first });
        let mut third = capture.acquire::<u8>(256)?;
        capture.fill_bytes(main, &mut third, 3)
    };
    let arena = CudaArena::new(memory(), 4096, ArenaPolicy::Linear).unwrap();
    let prepared = place.session().prepare(arena).unwrap();
    let mut graph: CapturedGraph<bool> = prepared.capture(true, body).unwrap();
    graph.update(body).unwrap();
    *graph.state().unwrap() = false;
    let moved = CaptureError::Moved { temporary: 2, before: 512, now: 768 };
    assert_eq!(graph.update(body), Err(moved));
    graph.replay().unwrap();
    graph.synchronize().unwrap();
}

/// An update also changes launches of a scope, and the constants that the scope copies from the
/// host.
#[test]
#[ignore = "needs a CUDA device"]
fn a_graph_with_a_scope_is_updated() {
    let _present = require_device();
    let stream = stream();
    let axpy = Axpy::load(stream.context());
    let (session, ends) = Ends::of_session(&[&stream]).unwrap();
    // The tuple contains the value for the view's fill and the factor for the input. A factor of 0
    // panics.
    let body = |capture: &Capture<'_>, &mut (fill, factor): &mut (f64, f64)| {
        ends.with_views(capture, |scope, from, to| {
            let mut sum = scope.try_acquire_filled(N, fill)?;
            axpy.on_scope(scope, factor, from, &mut sum)?;
            assert!(factor != 0.0, "as it should");
            Ok(to.copy_from(sum.as_view())?)
        })
    };
    let probe: Result<_, CaptureError> = session.probe(&mut (0.1, 2.0), body);
    let prepared = session.planned(&probe.unwrap()).unwrap();
    let mut graph: CapturedGraph<_> = prepared.capture((0.1, 2.0), body).unwrap();
    let check = |graph: &mut CapturedGraph<_>, fill: f64, factor: f64| {
        let expected: Vec<f64> = input(3).iter().map(|x| factor.mul_add(*x, fill)).collect();
        assert_same_bits(&ends.run(graph, &input(3)).unwrap(), &expected);
    };
    check(&mut graph, 0.1, 2.0);
    *graph.state().unwrap() = (0.3, 5.0);
    graph.update(body).unwrap();
    check(&mut graph, 0.3, 5.0);
    *graph.state().unwrap() = (0.7, 0.0);
    assert!(catch_unwind(AssertUnwindSafe(|| graph.update(body))).is_err());
    check(&mut graph, 0.3, 5.0);
    // Zeros are valid values.
    *graph.state().unwrap() = (0.0, 1.0);
    graph.update(body).unwrap();
    check(&mut graph, 0.0, 1.0);
}
