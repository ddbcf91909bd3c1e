//! Test helpers: a simulator, many orders, and the checks after each order.

use std::sync::Arc;

use cuda_sim_control::{Mistake, Settings, Simulator};
use cudarc::driver::{CudaContext, CudaFunction};
use cudarc::nvrtc::Ptx;
use pool_core::Pool;
use pool_cuda::{Cuda, CudaDevice};
use pool_kernels::Module;

/// Starts the simulator for this process.
pub(crate) fn start() -> Simulator {
    Simulator::start(Settings::default()).unwrap()
}

/// Restarts the simulator with a seed of this run. Consecutive runs use different seeds.
pub(crate) fn start_anew(simulator: Simulator, settings: Settings, seed: u64) {
    let seed = settings.seed.wrapping_mul(1_000_003).wrapping_add(seed);
    assert!(simulator.reset(Settings { seed, ..settings }));
    // A process starts a driver only once, and a restart of the simulator resets that.
    cudarc::driver::result::init().unwrap();
}

/// Returns the number of orders of a test, from the `POOL_SIM_ORDERS` variable; 20 by default.
pub(crate) fn orders() -> u64 {
    let number = std::env::var("POOL_SIM_ORDERS").ok();
    number.map_or(20, |number| number.parse().unwrap())
}

/// Runs a program in many orders. After each, there are no reports and no leaks.
pub(crate) fn in_many_orders(program: impl Fn(&CudaDevice)) {
    let simulator = start();
    for seed in 0..orders() {
        start_anew(simulator, Settings::default(), seed);
        let device = Cuda::device(0).unwrap();
        program(&device);
        drop(device);
        simulator.assert_clean();
        simulator.assert_no_leaks();
    }
}

/// Runs a program in many orders, and checks that each run reports races and nothing else.
pub(crate) fn races_in_every_order(program: impl Fn(&CudaDevice)) {
    let simulator = start();
    for seed in 0..orders() {
        start_anew(simulator, Settings::default(), seed);
        program(&Cuda::device(0).unwrap());
        let reports = simulator.reports();
        assert!(!reports.is_empty(), "seed {seed}: nothing is reported");
        for report in reports {
            assert_eq!(report.mistake(), Mistake::Race, "{report}");
        }
    }
}

/// Returns a pool on its own stream.
pub(crate) fn pool(device: &CudaDevice) -> Pool<Cuda> {
    Pool::new(device.new_stream().unwrap())
}

/// Returns the number of calls since the last reset whose names have this prefix.
pub(crate) fn calls_like(simulator: Simulator, start: &str) -> usize {
    simulator.log().iter().filter(|call| call.name.starts_with(start)).count()
}

/// Returns a kernel that can be launched in a context.
pub(crate) fn function(context: &Arc<CudaContext>, module: Module, name: &str) -> CudaFunction {
    context.load_module(Ptx::from_src(module.text())).unwrap().load_function(name).unwrap()
}
