//! Compares the bytes and the replay time of random captures under each arena policy with the
//! driver's own graph memory. For the latter, cudarc captures the same program with an allocation
//! node and a free node for each temporary, and with `AUTO_FREE_ON_LAUNCH`.
//! `graph_replay_bytes_peers.py` in the parent directory runs the same programs with PyTorch, from
//! a file written by this bench.
//!
//! Run with `cargo bench -p device-tests --bench graph_replay_bytes -- --out DIR`. It needs
//! hardware. On the simulated driver (with `--simulated`, or when run as a test) it only counts
//! bytes, because times have no meaning there.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a failed measurement ends with its error"
)]

#[path = "../../../../crates/pool-plan/tests/support/capture.rs"]
#[allow(dead_code, reason = "only the planner uses its problems")]
mod generator;
#[path = "../../tests/device/graphs/programs.rs"]
#[allow(dead_code, reason = "the tests use the rest")]
mod programs;

mod clock;
mod memory_nodes;
mod policies;
mod record;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Parser;
use cuda_sim_control::{Settings, Simulator};
use driver_conformance::driver::Device;
use pool_cuda::Cuda;
use pool_graph::DeviceMemory;

use clock::Clock;
use programs::{Program, Step};
use record::{Outcome, Record, Report};

/// The command-line arguments of the bench.
#[derive(Debug, Parser)]
struct Arguments {
    /// The number of generated captures, which use 1, 2, 4 and 8 streams in rotation.
    #[arg(long, default_value_t = 16)]
    captures: usize,
    /// The number of operations in each capture.
    #[arg(long, default_value_t = 2000)]
    operations: usize,
    /// The factor by which the generator's sizes of temporaries, 256 bytes to 128 KiB, are
    /// multiplied. Without it, a device's 2 MiB pages would hide all differences.
    #[arg(long, default_value_t = 64)]
    scale: usize,
    /// The number of consecutive timed replays of each graph.
    #[arg(long, default_value_t = 31)]
    replays: usize,
    /// Use the simulated driver, which only measures bytes.
    #[arg(long)]
    simulated: bool,
    /// The directory for programs and results as JSON. The default is the value of the
    /// `POOL_BENCH_OUT` variable. Without a directory, the results are printed.
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// This flag is passed by `cargo bench`.
    #[arg(long, hide = true)]
    bench: bool,
    /// This flag is passed to all benches by the script that runs them.
    #[arg(long, hide = true)]
    noplot: bool,
}

impl Arguments {
    /// Parses the arguments. When run as a test, it ignores the test harness's arguments, and
    /// selects a few short, simulated captures.
    fn of_process() -> Self {
        let measures = ["--bench", "--simulated", "--help"];
        if std::env::args().any(|argument| measures.contains(&argument.as_str())) {
            return Self::parse();
        }
        let few =
            ["graph_replay_bytes", "--simulated", "--captures=4", "--operations=300", "--scale=1"];
        Self::parse_from(few)
    }
}

fn main() -> ExitCode {
    let arguments = Arguments::of_process();
    let device = match open(arguments.simulated) {
        Ok(device) => device,
        Err(why) if arguments.simulated && !arguments.bench => {
            println!("SKIPPED: {why}");
            return ExitCode::SUCCESS;
        }
        Err(why) => {
            eprintln!("no GPU: {why}");
            return ExitCode::from(3);
        }
    };
    let clock = Clock::new((!arguments.simulated).then_some(arguments.replays));
    let (programs, records) = measure(&arguments, &device, clock);
    let name = Cuda::device(0).and_then(|device| device.name()).unwrap_or_default();
    let report = Report::new(name, arguments.simulated, records);
    println!("{report}");
    let out = arguments.out.or_else(|| std::env::var_os("POOL_BENCH_OUT").map(PathBuf::from));
    match record::write(out, &programs, &report) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("the results cannot be written: {error}");
            ExitCode::FAILURE
        }
    }
}

fn open(simulated: bool) -> Result<Device, String> {
    if !simulated {
        return Device::open().map_err(|why| why.to_string());
    }
    Simulator::start(Settings::default()).map_err(|why| why.to_string())?;
    Device::open_hardware_or_simulator().map_err(|why| why.to_string())
}

/// Returns the same program with larger temporaries.
fn scaled(mut program: Program, scale: usize) -> Program {
    program.sizes.iter_mut().for_each(|size| *size *= scale);
    for step in &mut program.steps {
        if let Step::Take { bytes, .. } = step {
            *bytes *= scale;
        }
    }
    program
}

/// Measures one capture after another. Each is dropped before the next one begins.
fn measure(
    arguments: &Arguments,
    device: &Device,
    clock: Clock,
) -> (Vec<record::Program>, Vec<Record>) {
    let settings = generator::settings(arguments.captures, false);
    let shorter = |setting| generator::Capture { operations: arguments.operations, ..setting };
    let one = |setting: generator::Capture| {
        let program = scaled(Program::generated(&setting), arguments.scale);
        let memory = DeviceMemory::new(&Cuda::device(0).unwrap());
        let planned = policies::planned(&memory, &program, clock);
        let between = planned.footprint.lower_bound..=planned.footprint.sum;
        assert!(between.contains(&planned.measured.bytes), "{setting:?}: {:?}", planned.footprint);
        let record = Record {
            capture: setting.seed,
            streams: setting.streams,
            temporaries: program.sizes.len(),
            requested: program.sum(),
            sum: planned.footprint.sum,
            peak_by_calls: record::peak(&program),
            lower_bound: planned.footprint.lower_bound,
            monotone: policies::monotone(&memory, &program, clock),
            linear: policies::linear(&memory, &program, clock),
            planned: Outcome::Measured(planned.measured),
            memory_nodes: memory_nodes::measure(&memory, device, &program, clock),
        };
        (record::Program::new(setting.seed, &program), record)
    };
    settings.map(shorter).map(one).unzip()
}
