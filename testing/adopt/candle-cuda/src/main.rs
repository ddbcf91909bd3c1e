//! Captures a forward pass of candle's BERT in a graph, and compares replays with eager passes bit
//! by bit. No line of candle is changed; cudarc has `allocator.patch`.
//!
//! With the simulated driver, the model is small. On a GPU, it has the size of BERT base, and the
//! program also measures times and bytes.

mod figures;
mod memory;
mod model;

use std::error::Error;
use std::fmt;
use std::sync::Arc;

use candle_core::CudaDevice;
use candle_core::cuda_backend::cudarc::driver::sys::CUresult;
use candle_core::cuda_backend::cudarc::driver::{
    CudaSlice, CudaStream, DevicePtr, DriverError, with_slice_allocator,
};
use candle_transformers::models::bert::Config;
use cuda_sim_control::Simulator;
use pool_cuda::CudaDevice as PoolDevice;
use pool_graph::{
    CUDAGraphMemoryPool, Capture, CaptureError, CaptureSession, DeviceMemory, GraphPoolConfig,
};

use crate::figures::{HighWater, median_of_passes};
use crate::memory::{Plan, Planned, Recorder};
use crate::model::{Model, Places};

type Outcome<T> = Result<T, Box<dyn Error>>;

/// An error of the capture's body. `enqueue` returns errors of captures only, so candle's own error
/// is kept beside it.
#[derive(Debug)]
enum BodyError {
    Capture(CaptureError),
    Candle(candle_core::Error),
}

/// The arguments of the program after the number of replays.
#[derive(Clone, Copy)]
struct Options {
    /// `--measure` prints times on the simulated device also.
    is_measured: bool,
    /// With `--without-workspace`, cuBLAS allocates its workspace in the capture, which is refused.
    has_workspace: bool,
    /// With `--without-cache`, candle copies arrays of shapes from host memory in the capture.
    has_cache: bool,
}

/// The sizes of a run.
struct Sizes {
    config: Config,
    length: usize,
    replays: u64,
    /// The workspace of cuBLAS. NVIDIA recommends 32 MiB from Hopper on.
    workspace: usize,
}

fn main() -> Outcome<()> {
    let simulator = Simulator::attach();
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let has = |option: &str| arguments.iter().any(|given| given == option);
    let replays = arguments.first().map_or(Ok(1000), |given| given.parse())?;
    let options = Options {
        is_measured: simulator.is_none() || has("--measure"),
        has_workspace: !has("--without-workspace"),
        has_cache: !has("--without-cache"),
    };
    let equal = run(&Sizes::new(simulator.is_some(), replays), options)?;
    if let Some(simulator) = simulator {
        let reports = simulator.reports();
        for report in &reports {
            println!("{report:?}");
        }
        println!("simulator: {} reports", reports.len());
        if !reports.is_empty() {
            return Err("the simulator reports mistakes".into());
        }
    }
    if equal { Ok(()) } else { Err("a replay differs from the eager pass".into()) }
}

fn run(sizes: &Sizes, options: Options) -> Outcome<bool> {
    let device = CudaDevice::new_with_stream(0)?;
    let stream = device.cuda_stream();
    // SAFETY: all work is on this stream.
    unsafe { device.disable_event_tracking() };
    let model = Model::new(&device, sizes.config.clone(), sizes.length)?;
    let mut eager = Eager::new(&stream, &model, sizes.workspace)?;

    // The first pass loads the modules. With the guard, candle keeps the small arrays of shapes
    // that its kernels read. Without it, each replay would read host memory that has been freed.
    let guard = options.has_cache.then(|| device.enable_cuda_graph_htod_cache());
    let first = eager.pass(&model, 0)?;
    let again = eager.pass(&model, 0)?;
    println!("two eager passes are bit-identical: {}", are_equal(&first, &again));
    let recorder = Arc::new(Recorder::default());
    with_slice_allocator(recorder.clone(), || eager.enqueue(&model))?;
    stream.synchronize()?;
    let plan = recorder.plan()?;

    let pool_device = PoolDevice::of_context(stream.context().clone())?;
    let config = GraphPoolConfig { initial: 0, maximum: u64::MAX };
    let pool = CUDAGraphMemoryPool::with_config(DeviceMemory::new(&pool_device), config);
    let tokens = pool.allocate(4 * model.tokens() as u64)?;
    let output = pool.allocate(4 * model.outputs() as u64)?;
    let session = CaptureSession::new(&stream)?.lease(pool.lease(&[tokens.id(), output.id()])?);
    let body = |capture: &Capture<'_>, model: &mut Model| {
        let main = capture.main();
        let mut slices =
            capture.workspace(main, usize::try_from(plan.peak).unwrap_or(usize::MAX))?;
        let mut library = capture.workspace(main, sizes.workspace)?;
        let from = capture.block::<u32>(&tokens)?;
        let mut to = capture.block::<f32>(&output)?;
        let allocator = Arc::new(Planned::new(slices.address(), plan.clone()));
        let workspace = options.has_workspace.then(|| (library.address(), library.bytes()));
        let places = Places { tokens: from.address(), output: to.address(), workspace };
        let uses = [slices.write(), library.write(), from.read(), to.write()];
        let mut failed = None;
        let work = |_: &Arc<CudaStream>| {
            // SAFETY: the places are the four views below, which belong to this graph.
            let passed = || unsafe { model.forward(places) };
            with_slice_allocator(allocator, passed).map_err(|error| {
                failed = Some(error);
                DriverError(CUresult::CUDA_ERROR_UNKNOWN).into()
            })
        };
        // SAFETY: the pass reads and writes the four views, and the weights and arrays of shapes.
        // The weights are the graph's state, and candle keeps the arrays until the thread ends.
        let enqueued = unsafe { capture.enqueue(main, &uses, work) };
        match failed {
            Some(error) => Err(BodyError::Candle(error)),
            None => enqueued.map_err(BodyError::Capture),
        }
    };
    let mut model = model;
    let probe = session.probe(&mut model, body)?;
    let prepared = session.planned(&probe)?;
    let mut graph = prepared.capture(model, body)?;
    drop(guard);
    println!("graph verified: {:?}; arena: {}", graph.verified(), graph.footprint());
    print_plan(&plan, sizes);

    let mut found = vec![0.0_f32; first.len()];
    let (mut equal, mut different) = (0_u64, 0_u64);
    for number in 0..sizes.replays {
        let input = graph.state()?.input(number);
        graph.write(&tokens, &input)?;
        graph.replay()?;
        graph.read(&output, &mut found)?;
        let wanted = eager.pass(graph.state()?, number)?;
        *(if are_equal(&wanted, &found) { &mut equal } else { &mut different }) += 1;
    }
    println!("{equal} replays bit-identical to the eager pass, {different} different");
    if options.is_measured {
        measure(&device, &mut eager, &mut graph)?;
    }
    Ok(different == 0 && equal == sizes.replays)
}

/// Prints the times of eager passes and replays, and candle's own peak.
fn measure(
    device: &CudaDevice,
    eager: &mut Eager,
    graph: &mut pool_graph::CapturedGraph<Model>,
) -> Outcome<()> {
    let stream = device.cuda_stream();
    let high_water = HighWater::begin(&stream)?;
    eager.pass(graph.state()?, 0)?;
    println!("candle's eager peak: {} bytes of temporaries", high_water.end()?);
    let eager_time = median_of_passes(&stream, || Ok(eager.enqueue(graph.state()?)?))?;
    let guard = device.enable_cuda_graph_htod_cache();
    let cached_time = median_of_passes(&stream, || Ok(eager.enqueue(graph.state()?)?))?;
    drop(guard);
    let replay_time = median_of_passes(&stream, || Ok(graph.replay()?))?;
    println!("median of 200: eager pass {eager_time:?}, with candle's cache {cached_time:?}");
    println!("median of 200: replay {replay_time:?}");
    Ok(())
}

fn print_plan(plan: &Plan, sizes: &Sizes) {
    println!(
        "temporaries of candle: {} slices, sum {} bytes, planned peak {}, lower bound {}; \
         workspace of cuBLAS {} bytes",
        plan.len(),
        plan.sum,
        plan.peak,
        plan.bound,
        sizes.workspace
    );
}

/// The memory of eager passes, beside that of the graph.
struct Eager {
    stream: Arc<CudaStream>,
    tokens: CudaSlice<u32>,
    output: CudaSlice<f32>,
    workspace: CudaSlice<u8>,
}

impl Eager {
    fn new(stream: &Arc<CudaStream>, model: &Model, workspace: usize) -> Outcome<Self> {
        Ok(Self {
            stream: stream.clone(),
            tokens: stream.alloc_zeros(model.tokens())?,
            output: stream.alloc_zeros(model.outputs())?,
            workspace: stream.alloc_zeros(workspace)?,
        })
    }

    /// Runs a pass with the input of this number, and returns the result.
    fn pass(&mut self, model: &Model, number: u64) -> Outcome<Vec<f32>> {
        self.stream.memcpy_htod(&model.input(number), &mut self.tokens)?;
        self.enqueue(model)?;
        Ok(self.stream.clone_dtoh(&self.output)?)
    }

    /// Enqueues a pass with the last input.
    fn enqueue(&self, model: &Model) -> candle_core::Result<()> {
        let stream = &self.stream;
        let places = Places {
            tokens: self.tokens.device_ptr(stream).0,
            output: self.output.device_ptr(stream).0,
            workspace: Some((self.workspace.device_ptr(stream).0, self.workspace.num_bytes())),
        };
        // SAFETY: the slices have the sizes of the model, and all work is on one stream.
        unsafe { model.forward(places) }
    }
}

impl Sizes {
    fn new(is_simulated: bool, replays: u64) -> Self {
        if !is_simulated {
            let config = Config { model_type: None, ..Config::default() };
            return Self { config, length: 128, replays, workspace: 32 << 20 };
        }
        let config = Config {
            vocab_size: 64,
            hidden_size: 16,
            num_hidden_layers: 1,
            num_attention_heads: 2,
            intermediate_size: 32,
            max_position_embeddings: 16,
            model_type: None,
            ..Config::default()
        };
        Self { config, length: 4, replays, workspace: 4096 }
    }
}

fn are_equal(one: &[f32], other: &[f32]) -> bool {
    one.len() == other.len() && one.iter().zip(other).all(|(a, b)| a.to_bits() == b.to_bits())
}

impl From<CaptureError> for BodyError {
    fn from(error: CaptureError) -> Self {
        Self::Capture(error)
    }
}

impl fmt::Display for BodyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Capture(error) => error.fmt(f),
            Self::Candle(error) => error.fmt(f),
        }
    }
}

impl Error for BodyError {}
