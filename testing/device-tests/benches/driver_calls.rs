//! The host time of driver calls: calls that a pool avoids, and calls that a replay cannot avoid.

use std::process::ExitCode;

use criterion::Criterion;
use driver_conformance::driver::{
    self, Device, Event, Graph, MemoryPool, Mode, NoDevice, Outcome, Refusal, Stream,
};

const BYTES: usize = 1 << 20;

fn main() -> ExitCode {
    match Device::open() {
        Ok(device) => measure(&mut Criterion::default().configure_from_args(), &device),
        Err(why) => without_device(&why),
    }
}

/// Does nothing when run as a test. When run as a benchmark, prints that there is no device.
fn without_device(why: &NoDevice) -> ExitCode {
    if std::env::args().any(|argument| argument == "--bench") {
        eprintln!("no GPU: {why}");
        return ExitCode::from(3);
    }
    println!("SKIPPED: {why}");
    ExitCode::SUCCESS
}

/// Measures each call, or prints the call that the driver lacks.
fn measure(criterion: &mut Criterion, device: &Device) -> ExitCode {
    let measured = [
        allocation(criterion),
        ordered_allocation(criterion, device),
        order(criterion),
        replay(criterion),
    ];
    criterion.final_summary();
    let mut code = ExitCode::SUCCESS;
    for refusal in measured.into_iter().filter_map(Result::err) {
        match refusal {
            Refusal::Missing(call) => println!("SKIPPED: the driver has no {call}"),
            Refusal::Code(_) => {
                eprintln!("a measured call failed: {refusal}");
                code = ExitCode::FAILURE;
            }
        }
    }
    code
}

/// Returns the result of the last repetition. All repetitions fail with the same error.
fn repeat(
    criterion: &mut Criterion,
    name: &str,
    mut call: impl FnMut() -> Outcome<()>,
) -> Outcome<()> {
    call()?;
    let mut last = Ok(());
    criterion.bench_function(name, |bencher| bencher.iter(|| last = call()));
    last
}

fn allocation(criterion: &mut Criterion) -> Outcome<()> {
    repeat(criterion, "cuMemAlloc and cuMemFree", || driver::free(driver::allocate(BYTES)?))
}

fn ordered_allocation(criterion: &mut Criterion, device: &Device) -> Outcome<()> {
    let stream = Stream::non_blocking()?;
    let pool = MemoryPool::new(device, 0)?;
    pool.set_release_threshold(u64::MAX)?;
    repeat(criterion, "cuMemAllocFromPoolAsync and cuMemFreeAsync", || {
        stream.free(stream.allocate_from(&pool, BYTES)?)
    })
}

fn order(criterion: &mut Criterion) -> Outcome<()> {
    let (first, second) = (Stream::non_blocking()?, Stream::non_blocking()?);
    let event = Event::new()?;
    repeat(criterion, "cuEventRecord and cuStreamWaitEvent", || {
        event.record(&first)?;
        second.wait(&event)
    })
}

fn replay(criterion: &mut Criterion) -> Outcome<()> {
    let (stream, span) = (Stream::non_blocking()?, driver::allocate(BYTES)?);
    stream.begin_capture(Mode::ThreadLocal)?;
    driver::fill_behind(&stream, span, 1)?;
    let graph: Graph = stream.end_capture()?;
    let exec = graph.instantiate()?;
    repeat(criterion, "cuGraphLaunch of one fill, and waiting", || {
        exec.launch(&stream)?;
        stream.synchronize()
    })
}
