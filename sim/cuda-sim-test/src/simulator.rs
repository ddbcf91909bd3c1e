//! The simulated driver of this process: its interface for tests.

use std::thread;

use cuda_sim::settings::Fault;

use crate::state::running_options;

/// The simulated driver of this process. A test that only starts it needs none of these methods:
/// the process prints the findings at its end.
#[derive(Clone, Copy, Debug)]
pub struct Simulator(());

impl Simulator {
    pub(crate) fn new() -> Self {
        Self(())
    }

    /// Returns the mistakes found so far, each once, one line each: `race: …`, `use after free: …`,
    /// `out of bounds: …`. Mistakes of a kernel are known once it has run.
    #[must_use]
    pub fn reports(self) -> Vec<String> {
        cuda_sim::reports()
    }

    /// Returns the same and forgets it. A test uses it for intended mistakes, so that the process
    /// does not fail.
    #[must_use]
    pub fn take_reports(self) -> Vec<String> {
        let reports = cuda_sim::reports();
        cuda_sim::forget_reports();
        reports
    }

    /// Returns the objects that were created and not freed so far, one line each.
    #[must_use]
    pub fn leaks(self) -> Vec<String> {
        cuda_sim::leaks()
    }

    /// Checks that there are no reports, so that the test fails and not the process alone. If tests
    /// run on several threads of one process, mistakes of other tests count, too.
    ///
    /// # Panics
    ///
    /// Panics with all reports if there are any.
    pub fn assert_clean(self) {
        let reports = self.reports();
        assert!(reports.is_empty(), "the simulated driver reports:\n{}", reports.join("\n"));
    }

    /// Lets the n-th call of this name from now (1 is the next one) return a `CUresult`, without an
    /// effect.
    pub fn fail_call(self, call: &str, nth: u64, code: u32) {
        cuda_sim::fail_call(&Fault { call: call.to_owned(), nth, code });
    }

    /// Runs a test once for each seed of `CUDA_SIM_ORDERS`, from `CUDA_SIM_SEED` on, and passes it
    /// the seed. If the test panics, the seed is printed. A seed reproduces its order if no other
    /// thread uses the device meanwhile.
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
