//! Graphs whose kernels' modules and other values are dropped by the caller before the replays.

use std::sync::Arc;

use cuda_sim_control::Simulator;
use cudarc::driver::{CudaFunction, CudaStream, LaunchConfig, PushKernelArg};
use cudarc::nvrtc::Ptx;
use pool_cuda::{Cuda, Launch};
use pool_graph::{
    CUDAGraphMemoryPool, Capture, CaptureError, CaptureSession, CapturedGraph, GraphMemoryBlock,
    PreparedCapture,
};
use pool_kernels::elementwise;

use crate::graphs::{arena, pool, stream};
use crate::require_device;

const COUNT: usize = 300;
const REPLAYS: i32 = 100;

/// The ways to launch a kernel in a capture.
#[derive(Clone, Copy, Debug)]
enum Way {
    Scope,
    Enqueue,
}

/// The graph's state.
#[derive(Clone, Copy, Debug)]
struct Wanted {
    factor: f64,
    launches: usize,
    way: Way,
}

/// A stream, and a block of numbers that graphs multiply.
struct Place {
    stream: Arc<CudaStream>,
    _pool: CUDAGraphMemoryPool,
    numbers: GraphMemoryBlock,
    prepared: PreparedCapture,
}

impl Place {
    fn new() -> Self {
        let (stream, pool) = (stream(), pool());
        let numbers = pool.allocate((COUNT * size_of::<f64>()) as u64).unwrap();
        let lease = pool.lease(&[numbers.id()]).unwrap();
        let session = CaptureSession::new(&stream).unwrap().lease(lease);
        Self { stream, _pool: pool, numbers, prepared: session.prepare(arena()).unwrap() }
    }

    /// Loads a module, and returns its only function in use. Dropping the function unloads the
    /// module.
    fn load(&self) -> CudaFunction {
        let module = Ptx::from_src(elementwise::MODULE.text());
        let module = self.stream.context().load_module(module).unwrap();
        module.load_function(elementwise::SCALE.f64).unwrap()
    }

    /// Multiplies the numbers by the factor, once for each launch.
    fn body(
        &self,
        capture: &Capture<'_>,
        scale: &CudaFunction,
        wanted: &Wanted,
    ) -> Result<(), CaptureError> {
        let (main, config) = (capture.main(), LaunchConfig::for_num_elems(512));
        let mut numbers = capture.block::<f64>(&self.numbers)?;
        match wanted.way {
            Way::Scope => {
                let mut lent = capture.lend(main, &mut numbers)?;
                capture.scope(main, |scope| {
                    let mut view = lent.view_mut()?;
                    for _ in 0..wanted.launches {
                        let mut launch = scope.launch(scale);
                        launch.arg(&wanted.factor).arg(&mut view).arg(&(COUNT as u64));
                        // SAFETY: the arguments match `SCALE`, and the view has `COUNT` elements.
                        unsafe { launch.launch(config) }?;
                    }
                    Ok(())
                })
            }
            Way::Enqueue => {
                capture.keep(scale.clone())?;
                let address = numbers.address();
                let work = |stream: &Arc<CudaStream>| {
                    for _ in 0..wanted.launches {
                        let mut launch = stream.launch_builder(scale);
                        launch.arg(&wanted.factor).arg(&address).arg(&(COUNT as u64));
                        // SAFETY: as above.
                        unsafe { launch.launch(config) }?;
                    }
                    Ok(())
                };
                // SAFETY: the work writes only the numbers, and the graph keeps its module.
                unsafe { capture.enqueue(main, &[numbers.write()], work) }
            }
        }
    }

    /// Captures a graph with a function that is dropped at the end of this call.
    fn graph(&self, wanted: Wanted) -> CapturedGraph<Wanted> {
        let scale = self.load();
        let body = |capture: &Capture<'_>, wanted: &mut Wanted| self.body(capture, &scale, wanted);
        self.prepared.capture(wanted, body).unwrap()
    }

    /// Updates a graph with a function that is dropped at the end of this call.
    fn update(
        &self,
        graph: &mut CapturedGraph<Wanted>,
        wanted: Wanted,
    ) -> Result<(), CaptureError> {
        let scale = self.load();
        *graph.state()? = wanted;
        graph.update(|capture, wanted: &mut Wanted| self.body(capture, &scale, wanted))
    }

    /// Replays a graph, and checks that each replay has multiplied the numbers by 2 or by 1/2.
    fn check(&self, graph: &mut CapturedGraph<Wanted>, factor: f64) {
        graph.write(&self.numbers, &[3.0_f64; COUNT]).unwrap();
        graph.upload().unwrap();
        for _ in 0..REPLAYS {
            graph.replay().unwrap();
        }
        let mut found = [0.0; COUNT];
        graph.read(&self.numbers, &mut found).unwrap();
        // Exact: only the exponent changes.
        assert_eq!(found, [3.0 * factor.powi(REPLAYS); COUNT]);
    }

    /// Loads and unloads other modules, whose code may replace that of an unloaded one.
    fn load_others(&self) {
        drop([(); 4].map(|()| self.load()));
    }
}

/// Checks how many modules have been unloaded, on the simulated driver only.
fn check_unloaded(expected: u64) {
    if let Some(simulator) = Simulator::attach() {
        assert_eq!(simulator.calls("cuModuleUnload"), expected);
        simulator.assert_clean();
    }
}

#[test]
#[ignore = "needs a CUDA device"]
fn functions_are_dropped_before_the_replays() {
    let _present = require_device();
    let mut unloaded = 0;
    for way in [Way::Scope, Way::Enqueue] {
        let place = Place::new();
        let mut graph = place.graph(Wanted { factor: 2.0, launches: 1, way });
        check_unloaded(unloaded);
        place.load_others();
        place.check(&mut graph, 2.0);
        check_unloaded(unloaded + 4);
        drop(graph);
        unloaded += 5;
        check_unloaded(unloaded);
    }
}

#[test]
#[ignore = "needs a CUDA device"]
fn an_update_replaces_the_functions() {
    let _present = require_device();
    let mut unloaded = 0;
    for (first, second) in [(Way::Scope, Way::Scope), (Way::Enqueue, Way::Enqueue)] {
        let place = Place::new();
        let mut graph = place.graph(Wanted { factor: 2.0, launches: 1, way: first });
        place.check(&mut graph, 2.0);
        place.update(&mut graph, Wanted { factor: 0.5, launches: 1, way: second }).unwrap();
        // The first function is no longer needed, but the second one is.
        unloaded += 1;
        check_unloaded(unloaded);
        place.load_others();
        place.check(&mut graph, 0.5);
        drop(graph);
        unloaded += 5;
        check_unloaded(unloaded);
    }
}

#[test]
#[ignore = "needs a CUDA device"]
fn a_refused_update_keeps_the_old_functions() {
    let _present = require_device();
    let place = Place::new();
    let mut graph = place.graph(Wanted { factor: 2.0, launches: 1, way: Way::Enqueue });
    let refused = place.update(&mut graph, Wanted { factor: 0.5, launches: 2, way: Way::Enqueue });
    assert!(matches!(refused, Err(CaptureError::Update(_))), "{refused:?}");
    check_unloaded(1);
    place.load_others();
    place.check(&mut graph, 2.0);
    drop(graph);
    check_unloaded(6);
}

/// The functions of a dry run, and those of a body that fails, are dropped by the body itself.
#[test]
#[ignore = "needs a CUDA device"]
fn bodies_that_load_their_functions() {
    let _present = require_device();
    let place = Place::new();
    for way in [Way::Scope, Way::Enqueue] {
        let mut wanted = Wanted { factor: 2.0, launches: 3, way };
        let fails = std::cell::Cell::new(false);
        let body = |capture: &Capture<'_>, wanted: &mut Wanted| {
            place.body(capture, &place.load(), wanted)?;
            if fails.get() { Err(CaptureError::ForeignView) } else { Ok(()) }
        };
        let session = CaptureSession::new(&place.stream).unwrap();
        let lease = place._pool.lease(&[place.numbers.id()]).unwrap();
        let session = session.lease(lease);
        session.probe(&mut wanted, body).unwrap();
        let prepared = session.prepare(arena()).unwrap();
        fails.set(true);
        assert!(prepared.capture(wanted, body).is_err());
        fails.set(false);
        let mut graph = prepared.capture(Wanted { launches: 1, ..wanted }, body).unwrap();
        place.check(&mut graph, 2.0);
    }
    assert_eq!(Cuda::retry_deferred_frees(), 0);
    check_unloaded(6);
}
