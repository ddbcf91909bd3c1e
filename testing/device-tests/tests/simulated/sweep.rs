//! The sweep over ordering calls. Each such call of a program fails once, or from then on, with
//! each error code. Afterwards there is no race, no wrong byte, and no leak, and the requested
//! operation either failed or produced the right result.

use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};
use std::env;

use cuda_sim_control::{Settings, Simulator};
use fastrand::Rng;
use pool_cuda::Cuda;

use crate::support::start_anew;

/// Codes that a driver may return: for an invalid call, for memory, for a destroyed or broken
/// context, and an unknown code.
const CODES: [u32; 7] = [1, 2, 4, 201, 400, 700, 999];

/// The number of consecutive failures that stands for a permanent failure.
const FOR_GOOD: u64 = 200;

/// The calls that order work or on which an order depends, such as setting the current context and
/// querying the capture status.
const ORDERING: [&str; 22] = [
    "cuCtxGetCurrent",
    "cuCtxSetCurrent",
    "cuCtxSynchronize",
    "cuDeviceGet",
    "cuDeviceGetCount",
    "cuDevicePrimaryCtxGetState",
    "cuDevicePrimaryCtxRetain",
    "cuEventCreate",
    "cuEventElapsedTime",
    "cuEventQuery",
    "cuEventRecord",
    "cuEventSynchronize",
    "cuMemGetInfo_v2",
    "cuStreamBeginCapture_v2",
    "cuStreamEndCapture",
    "cuStreamGetCaptureInfo_v3",
    "cuStreamIsCapturing",
    "cuStreamSynchronize",
    "cuStreamUpdateCaptureDependencies_v2",
    "cuStreamWaitEvent",
    "cuThreadExchangeStreamCaptureMode",
    "cuGraphGetEdges_v2",
];

/// Prefixes of calls with another purpose: creating and destroying, copying and filling, launching,
/// and reading.
const OTHERS: [&str; 12] = [
    "cuMem",
    "cuGraph",
    "cuStreamCreate",
    "cuStreamDestroy",
    "cuEventDestroy",
    "cuDevicePrimaryCtxRelease",
    "cuDeviceGetAttribute",
    "cuDeviceCanAccessPeer",
    "cuCtxEnablePeerAccess",
    "cuGetProcAddress",
    "cuDriverGetVersion",
    "cuInit",
];

/// The results of programs.
#[derive(Clone, Copy, Debug, Default)]
struct Row {
    programs: u64,
    races: u64,
    wrong: u64,
    /// The number of programs in which a call of these crates failed.
    failed: u64,
    /// The number of programs in which every call succeeded.
    right: u64,
}

impl Row {
    fn add(&mut self, other: Self) {
        self.programs += other.programs;
        self.races += other.races;
        self.wrong += other.wrong;
        self.failed += other.failed;
        self.right += other.right;
    }
}

/// Runs the program with the given number. The program creates its own objects, calls its second
/// argument before its first step, and returns the number of errors and the number of wrong
/// results. Afterwards all of its objects are dropped.
type Run<'p> = &'p dyn Fn(u64, &dyn Fn()) -> (usize, usize);

/// A kind of program.
pub(crate) struct Programs<'p> {
    pub(crate) name: &'static str,
    pub(crate) devices: u32,
    pub(crate) run: Run<'p>,
}

/// Sweeps over all kinds of programs, and prints the table.
///
/// # Panics
///
/// Panics if there was a race, a wrong byte or a leak, or if a program makes a call that is in
/// neither list.
pub(crate) fn sweep(simulator: Simulator, kinds: &[Programs<'_>]) {
    let mut rows: BTreeMap<&str, Row> = BTreeMap::new();
    let mut codes: BTreeMap<u32, Row> = BTreeMap::new();
    let mut problems = BTreeSet::new();
    for kind in kinds {
        let mut all = Row::default();
        for number in 0..programs() {
            let calls = recorded(simulator, kind, number);
            for (call, nth, code, for_good) in faults(&calls, number) {
                let fault = Fault { call, nth, code, for_good };
                let row = fault.of_program(simulator, kind, number, &mut problems);
                rows.entry(call).or_default().add(row);
                codes.entry(code).or_default().add(row);
                all.add(row);
            }
        }
        print("programs", kind.name, all);
    }
    rows.iter().for_each(|(call, row)| print("call", call, *row));
    codes.iter().for_each(|(code, row)| print("code", &code.to_string(), *row));
    for problem in problems.iter().take(20) {
        println!("FIGURE: {problem}");
    }
    assert!(problems.is_empty(), "{} problems", problems.len());
}

fn print(what: &str, name: &str, row: Row) {
    let Row { programs, races, wrong, failed, right } = row;
    println!(
        "FIGURE: {what} {name}: {programs} programs, {races} races, {wrong} wrong, {failed} with errors, {right} right"
    );
}

/// Returns the number of programs of each kind, from the `POOL_SWEEP_PROGRAMS` variable. By
/// default, this is a small number with a sample of the faults.
fn programs() -> u64 {
    let number = env::var("POOL_SWEEP_PROGRAMS").ok();
    number.map_or(12, |number| number.parse().unwrap())
}

/// Returns the ordering calls that a program makes after its beginning, and how often it makes
/// each.
fn recorded(simulator: Simulator, kind: &Programs<'_>, number: u64) -> BTreeMap<&'static str, u64> {
    start_anew(simulator, Settings { devices: kind.devices, ..Settings::default() }, number);
    let (errors, wrong) = (kind.run)(number, &|| simulator.forget_calls());
    assert_eq!((errors, wrong), (0, 0), "{} {number}", kind.name);
    let mut calls = BTreeMap::new();
    for made in simulator.log() {
        let is_other = OTHERS.iter().any(|start| made.name.starts_with(start));
        match ORDERING.iter().find(|call| **call == made.name) {
            Some(call) => *calls.entry(*call).or_default() += 1,
            None => assert!(is_other, "{} is neither an ordering call nor another", made.name),
        }
    }
    assert_eq!(Cuda::retry_deferred_frees(), 0);
    calls
}

/// Returns all faults of a program, each at one of its calls, or a sample if the variable is not
/// set.
fn faults(calls: &BTreeMap<&'static str, u64>, number: u64) -> Vec<(&'static str, u64, u32, bool)> {
    let mut random = Rng::with_seed(number);
    let is_whole = env::var("POOL_SWEEP_PROGRAMS").is_ok();
    let mut faults = Vec::new();
    for (call, count) in calls {
        for (code, for_good) in CODES.into_iter().flat_map(|code| [(code, false), (code, true)]) {
            let nth = random.u64(1..=*count);
            if is_whole || random.u8(..7) == 0 {
                faults.push((*call, nth, code, for_good));
            }
        }
    }
    faults
}

#[derive(Clone, Copy, Debug)]
struct Fault {
    call: &'static str,
    nth: u64,
    code: u32,
    for_good: bool,
}

impl Fault {
    fn arm(self, simulator: Simulator) {
        let most = if self.for_good { FOR_GOOD } else { 1 };
        for nth in self.nth..self.nth + most {
            simulator.fail_call(self.call, nth, self.code);
        }
    }

    fn of_program(
        self,
        simulator: Simulator,
        kind: &Programs<'_>,
        number: u64,
        problems: &mut BTreeSet<String>,
    ) -> Row {
        start_anew(simulator, Settings { devices: kind.devices, ..Settings::default() }, number);
        let is_armed = Cell::new(false);
        let arm = || {
            is_armed.set(true);
            self.arm(simulator);
        };
        let (errors, wrong) = (kind.run)(number, &arm);
        assert!(is_armed.get(), "{}: nothing failed", kind.name);
        simulator.forget_failures();
        let left = Cuda::retry_deferred_frees();
        let mut note = |what: String| {
            problems.insert(format!("{} {number}, {self:?}: {what}", kind.name));
        };
        let reports: Vec<String> = simulator.reports().iter().map(ToString::to_string).collect();
        let reports: Vec<&String> =
            reports.iter().filter(|report| !report.contains("at 0x0: nothing")).collect();
        reports.first().into_iter().for_each(|report| note((*report).clone()));
        // If a stream's context cannot be made current, cudarc still tries to destroy the stream,
        // but only once. The stream may then leak.
        let is_of_cudarc = |leak: &String| {
            self.call.starts_with("cuCtx") && leak.contains("kind stream, when its")
        };
        let leaks = simulator.leaks();
        let leaks: Vec<&String> = leaks.iter().filter(|leak| !is_of_cudarc(leak)).collect();
        if left > 0 || !leaks.is_empty() {
            note(format!("leaks {leaks:?}, deferred frees {}", Cuda::deferred_frees()));
        }
        if wrong > 0 {
            note(format!("{wrong} wrong"));
        }
        Row {
            programs: 1,
            races: u64::from(!reports.is_empty()),
            wrong: u64::from(wrong > 0),
            failed: u64::from(errors > 0),
            right: u64::from(errors == 0 && wrong == 0),
        }
    }
}
