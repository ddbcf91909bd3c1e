//! The simulated driver of this process, as a test sees it.

use std::thread;

use cuda_sim::settings::Fault;

use crate::running::running_options;

/// The simulated driver of this process. A test that only starts it needs none of these methods: the end of the process
/// tells what was found.
#[derive(Clone, Copy, Debug)]
pub struct Simulator(());

impl Simulator {
    pub(crate) fn new() -> Self {
        Self(())
    }

    /// What was found wrong with the process so far, each once, one line each: `race: …`, `use after free: …`,
    /// `out of bounds: …`. What a kernel does wrong is known once it has run.
    #[must_use]
    pub fn reports(self) -> Vec<String> {
        cuda_sim::reports()
    }

    /// The same, and forgets it: for what a test does wrong on purpose, so that the process does not fail for it.
    #[must_use]
    pub fn take_reports(self) -> Vec<String> {
        let reports = cuda_sim::reports();
        cuda_sim::forget_reports();
        reports
    }

    /// What was made and not given back so far, one line each.
    #[must_use]
    pub fn leaks(self) -> Vec<String> {
        cuda_sim::leaks()
    }

    /// Checks that nothing was found, so that the test fails and not the process alone. Where tests run on several threads
    /// of one process, what another one did wrong counts, too.
    ///
    /// # Panics
    ///
    /// When something was found, with all of it.
    pub fn assert_clean(self) {
        let reports = self.reports();
        assert!(reports.is_empty(), "the simulated driver reports:\n{}", reports.join("\n"));
    }

    /// Lets the n-th call of this name from now (1 is the next one) answer a code, as `CUresult` has them, and do nothing.
    pub fn fail_call(self, call: &str, nth: u64, code: u32) {
        cuda_sim::fail_call(&Fault { call: call.to_owned(), nth, code });
    }

    /// Runs a test once for each seed of `CUDA_SIM_ORDERS`, from `CUDA_SIM_SEED` on, and tells it the seed. Where it
    /// panics, the seed is printed. An order comes again where no other thread uses the device meanwhile.
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

/// Says which order it was, where a test panics in it.
#[derive(Debug)]
struct Order {
    seed: u64,
}

impl Drop for Order {
    fn drop(&mut self) {
        if thread::panicking() {
            eprintln!("cuda-sim-test: that was the order of CUDA_SIM_SEED={}", self.seed);
        }
    }
}
