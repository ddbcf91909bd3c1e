//! The simulated driver of this process, as tests use it.

use std::thread;

use cuda_sim::settings::Fault;

use crate::state::running_options;

/// The simulated driver of this process. A test that only starts the simulator needs none of these
/// methods, because the process prints the findings when it ends.
#[derive(Clone, Copy, Debug)]
pub struct Simulator(());

impl Simulator {
    pub(crate) fn new() -> Self {
        Self(())
    }

    /// Returns the distinct mistakes found so far, with one line for each: `race: …`,
    /// `use after free: …`, `out of bounds: …`. Mistakes in a kernel are known once the kernel has
    /// run.
    #[must_use]
    pub fn reports(self) -> Vec<String> {
        cuda_sim::reports()
    }

    /// Returns the mistakes found so far and discards them. Use this for intended mistakes, so that
    /// the process does not fail.
    #[must_use]
    pub fn take_reports(self) -> Vec<String> {
        let reports = cuda_sim::reports();
        cuda_sim::forget_reports();
        reports
    }

    /// Returns the objects that were created so far and not freed, with one line for each.
    #[must_use]
    pub fn leaks(self) -> Vec<String> {
        cuda_sim::leaks()
    }

    /// Checks that there are no reports, so that the test fails and not only the process. If
    /// several tests run on threads of one process, mistakes of other tests also count.
    ///
    /// # Panics
    ///
    /// Panics with all reports if there are any.
    pub fn assert_clean(self) {
        let reports = self.reports();
        assert!(reports.is_empty(), "the simulated driver reports:\n{}", reports.join("\n"));
    }

    /// Makes the n-th call of this name from now return a `CUresult` without having an effect. 1 is
    /// the next call.
    pub fn fail_call(self, call: &str, nth: u64, code: u32) {
        cuda_sim::fail_call(&Fault { call: call.to_owned(), nth, code });
    }

    /// Runs a test once for each seed and passes the seed to it. The number of seeds is
    /// `CUDA_SIM_ORDERS`, starting with `CUDA_SIM_SEED`. If the test panics, the seed is printed. A
    /// seed reproduces its order if no other thread uses the device during the test.
    ///
    /// ```
    /// let simulator = cuda_sim_test::start();
    /// simulator.each_order(|_seed| {
    ///     // ... cudarc as it is ...
    /// });
    /// ```
    pub fn each_order(self, mut test: impl FnMut(u64)) {
        let Some(options) = running_options().clone() else { return };
        for number in 0..options.orders {
            let order = Order { seed: options.machine.seed.wrapping_add(number) };
            cuda_sim::draw_anew(order.seed);
            test(order.seed);
        }
    }
}

/// Prints the seed if a test panics.
#[derive(Debug)]
struct Order {
    seed: u64,
}

impl Drop for Order {
    fn drop(&mut self) {
        if thread::panicking() {
            eprintln!("cuda-sim-test: the failing order is CUDA_SIM_SEED={}", self.seed);
        }
    }
}
