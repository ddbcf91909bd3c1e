//! What the tests share: a simulator, many orders, and what must hold after each.

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

/// Starts anew with a seed of this run. The seeds of a run lie apart from those of the next run's.
pub(crate) fn start_anew(simulator: Simulator, settings: Settings, seed: u64) {
    let seed = settings.seed.wrapping_mul(1_000_003).wrapping_add(seed);
    assert!(simulator.reset(Settings { seed, ..settings }));
    // A driver is started once in a process; this one forgets that.
    cudarc::driver::result::init().unwrap();
}

/// How many orders a test runs in: the variable `POOL_SIM_ORDERS`, else 20.
pub(crate) fn orders() -> u64 {
    let number = std::env::var("POOL_SIM_ORDERS").ok();
    number.map_or(20, |number| number.parse().unwrap())
}

/// Runs a program in many orders. After each, nothing is reported and all is given back.
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

/// Runs a program in many orders, and checks that races, and nothing else, are reported in each.
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

/// A pool on a stream of its own.
pub(crate) fn pool(device: &CudaDevice) -> Pool<Cuda> {
    Pool::new(device.new_stream().unwrap())
}

/// How often a call was made since the calls were forgotten, for calls that start with this.
pub(crate) fn calls_like(simulator: Simulator, start: &str) -> usize {
    simulator.log().iter().filter(|call| call.name.starts_with(start)).count()
}

/// A kernel, ready for launches in a context.
pub(crate) fn function(context: &Arc<CudaContext>, module: Module, name: &str) -> CudaFunction {
    context.load_module(Ptx::from_src(module.text())).unwrap().load_function(name).unwrap()
}
