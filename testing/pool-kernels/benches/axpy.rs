//! The time of a kernel over a million elements, launched and waited for: on hardware if there is a
//! device, else on the simulated driver, to measure its interpreter. The names of the measurements
//! contain the driver.

use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use criterion::{Criterion, Throughput};
use cuda_sim_control::{Settings, Simulator};
use cudarc::driver::{
    CudaContext, CudaFunction, CudaSlice, CudaStream, DriverError, LaunchConfig, PushKernelArg,
};
use cudarc::nvrtc::Ptx;
use driver_conformance::driver::Device;
use pool_kernels::{Launch, elementwise};

const ELEMENTS: usize = 1_000_000;
/// Enough elements for a test without measurement.
const ELEMENTS_OF_A_TEST: usize = 1_000;

/// The kernel and its arrays.
struct Axpy {
    stream: Arc<CudaStream>,
    kernel: CudaFunction,
    x: CudaSlice<f32>,
    y: CudaSlice<f32>,
}

fn main() -> ExitCode {
    let measures = std::env::args().any(|argument| argument == "--bench");
    let driver = match driver() {
        Ok(driver) => driver,
        Err(why) if measures => {
            eprintln!("{why}");
            return ExitCode::from(3);
        }
        Err(why) => {
            println!("SKIPPED: {why}");
            return ExitCode::SUCCESS;
        }
    };
    let elements = if measures { ELEMENTS } else { ELEMENTS_OF_A_TEST };
    let mut criterion = Criterion::default()
        .sample_size(20)
        .measurement_time(Duration::from_secs(10))
        .configure_from_args();
    if let Err(error) = measure(&mut criterion, &driver, elements) {
        eprintln!("a driver call failed: {error:?}");
        return ExitCode::FAILURE;
    }
    criterion.final_summary();
    ExitCode::SUCCESS
}

/// Returns the driver of the measurement: a device's, or else the simulated one.
fn driver() -> Result<String, String> {
    let no_device = match Device::open() {
        Ok(device) => {
            let facts = device.facts().map_err(|refusal| refusal.to_string())?;
            return Ok(facts.name);
        }
        Err(why) => why,
    };
    let simulated = Simulator::start(Settings::default()).map(|_| "simulated driver".to_owned());
    simulated.map_err(|why| format!("no GPU: {no_device}; no simulator: {why}"))
}

fn measure(criterion: &mut Criterion, driver: &str, elements: usize) -> Result<(), DriverError> {
    let mut axpy = Axpy::new(elements)?;
    axpy.run()?;
    let mut group = criterion.benchmark_group(driver);
    group.throughput(Throughput::Elements(elements as u64));
    let mut last = Ok(());
    group.bench_function(format!("axpy of {elements} f32"), |bencher| {
        bencher.iter(|| last = axpy.run());
    });
    group.finish();
    last
}

impl Axpy {
    fn new(elements: usize) -> Result<Self, DriverError> {
        let context = CudaContext::new(0)?;
        let stream = context.default_stream();
        let module = context.load_module(Ptx::from_src(elementwise::MODULE.text()))?;
        let kernel = module.load_function(elementwise::AXPY.f32)?;
        let x = stream.clone_htod(&vec![1.0; elements])?;
        let y = stream.clone_htod(&vec![2.0; elements])?;
        Ok(Self { stream, kernel, x, y })
    }

    /// Launches it and waits.
    fn run(&mut self) -> Result<(), DriverError> {
        let Launch { grid: grid_dim, block: block_dim } = Launch::over_elements(self.x.len());
        let launch = LaunchConfig { grid_dim, block_dim, shared_mem_bytes: 0 };
        let (factor, count) = (1e-6_f32, self.x.len() as u64);
        let mut builder = self.stream.launch_builder(&self.kernel);
        builder.arg(&factor).arg(&self.x).arg(&mut self.y).arg(&count);
        // SAFETY: the parameters are those of `AXPY`, and both slices have that many elements.
        unsafe { builder.launch(launch) }?;
        self.stream.synchronize()
    }
}
