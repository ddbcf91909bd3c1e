//! Scopes of three acquires and a dispatch on wgpu, beside code without a pool: the host's
//! processor time of a scope.
//!
//! `cargo bench -p pool-benches --features wgpu --bench wgpu_scopes -- [--scopes 10000] [--repeat
//! 9] [--elements 64]`. The ways alternate, in another order each time. It prints the median of the
//! repetitions, the fastest and the slowest, and ratios of the medians. Time is that of the calling
//! thread on its processor: on an adapter that computes on the processor, wall time is not
//! comparable to a GPU's. The device's time, from a repetition's first command to its last, is
//! printed beside it if the adapter has timing queries. Then 100,000 scopes run. After them no
//! buffer and no bind group may have been created, and the blocks must be the same.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stdout,
    clippy::cast_precision_loss,
    clippy::default_trait_access,
    reason = "a failing benchmark panics, and people read its numbers"
)]

mod by_hand;
mod device_clock;

use clap::Parser;
use comfy_table::{CellAlignment, Table, presets};
use pool_facade::pool_wgpu::wgpu::util::StagingBelt;
use pool_facade::pool_wgpu::{Access, Kernel, Stream, wgpu};
use pool_facade::{Pool, Wgpu, bytemuck};

use by_hand::ByHand;
use device_clock::DeviceClock;

const SOURCE: &str = include_str!("axpy.wgsl");
/// Invocations in a workgroup of the kernel.
const WORKGROUP: u32 = 64;
/// The number of scopes that are checked after the measurement.
const STEADY: usize = 100_000;

#[derive(Debug, Parser)]
struct Arguments {
    /// Scopes of each repetition.
    #[arg(long, default_value_t = 10_000)]
    scopes: usize,
    /// Repetitions of each way.
    #[arg(long, default_value_t = 9)]
    repeat: usize,
    /// Elements of each array, of 4 bytes.
    #[arg(long, default_value_t = 64)]
    elements: u32,
    /// Given by `cargo bench`. Without it, as among the tests, each way runs once and shortly.
    #[arg(long, hide = true)]
    bench: bool,
}

/// One way to get three arrays and a dispatch, or a part of that.
struct Way<'a> {
    name: &'static str,
    /// Runs `scopes` scopes, and submits the recorded commands.
    run: Box<dyn FnMut(usize) + 'a>,
    seconds: Vec<f64>,
    /// By the device's clock.
    device_seconds: Vec<f64>,
}

impl<'a> Way<'a> {
    fn new(name: &'static str, run: impl FnMut(usize) + 'a) -> Self {
        Self { name, run: Box::new(run), seconds: Vec::new(), device_seconds: Vec::new() }
    }

    /// Runs `scopes` scopes, and records their time.
    fn measure(&mut self, scopes: usize, clock: Option<&DeviceClock<'_>>) {
        let Self { run, seconds, device_seconds, .. } = self;
        let mut work = || {
            let start = processor_time();
            run(scopes);
            seconds.push(processor_time() - start);
        };
        match clock {
            Some(clock) => device_seconds.push(clock.around(work)),
            None => work(),
        }
    }
}

/// Median, fastest and slowest of some seconds, in microseconds a scope; `None` if there are none.
fn figures(seconds: &[f64], scopes: usize) -> Option<[f64; 3]> {
    let mut seconds = seconds.to_vec();
    seconds.sort_by(f64::total_cmp);
    let microseconds = |at: usize| seconds[at] / scopes as f64 * 1e6;
    let last = seconds.len().checked_sub(1)?;
    Some([microseconds(seconds.len() / 2), microseconds(0), microseconds(last)])
}

/// Returns the seconds that this thread has run on a processor.
fn processor_time() -> f64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: every thread has this clock, and `time` has room for the result.
    let answer = unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &raw mut time) };
    assert_eq!(answer, 0, "the thread's clock");
    time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
}

/// The kernel and its parameters.
struct Work<'a> {
    stream: &'a Stream,
    kernel: Kernel,
    parameters: [u32; 2],
    elements: usize,
}

impl Work<'_> {
    fn parameters(&self) -> &[u8] {
        bytemuck::bytes_of(&self.parameters)
    }

    /// Runs a scope of three acquires and a dispatch; returns the identities of the blocks.
    fn scope(&self, pool: &mut Pool<Wgpu>) -> [u64; 3] {
        let scope = pool.scope();
        let x = scope.acquire::<f32, _>(self.elements);
        let y = scope.acquire::<f32, _>(self.elements);
        let mut to = scope.acquire::<f32, _>(self.elements);
        let identities = [x.address(), y.address(), to.address()];
        let bindings = [x.binding().unwrap(), y.binding().unwrap(), to.binding_mut().unwrap()];
        let groups = [self.parameters[1].div_ceil(WORKGROUP), 1, 1];
        self.stream.dispatch(&self.kernel, &bindings, self.parameters(), groups).unwrap();
        identities
    }
}

fn main() {
    let arguments = Arguments::parse();
    let stream = match device_clock::open() {
        Ok(stream) => stream,
        Err(error) if !arguments.bench => return println!("SKIPPED: {error}"),
        Err(error) => panic!("{error}"),
    };
    let (scopes, repeat) =
        if arguments.bench { (arguments.scopes, arguments.repeat) } else { (600, 1) };
    println!("adapter: {:?}", stream.device().adapter_info());
    let access = [Access::Read, Access::Read, Access::ReadWrite];
    let kernel = stream.kernel(SOURCE, "axpy", &access).unwrap();
    let elements = arguments.elements;
    let parameters = [2.0_f32.to_bits(), elements];
    let work = Work { stream: &stream, kernel, parameters, elements: elements as usize };

    let clock = DeviceClock::new(&stream);
    if clock.is_none() {
        println!("the adapter has no timing queries, so the device's time is unknown");
    }
    let mut ways = ways(&work);
    for way in &mut ways {
        (way.run)(600);
        wait(&stream);
    }
    for repetition in 0..repeat {
        let count = ways.len();
        for turn in 0..count {
            ways[(turn + repetition) % count].measure(scopes, clock.as_ref());
            wait(&stream);
        }
    }
    print(&ways, scopes);
    drop(ways);
    check_steady_state(&work, if arguments.bench { STEADY } else { scopes });
}

fn wait(stream: &Stream) {
    stream.device().poll(wgpu::PollType::wait_indefinitely()).unwrap();
}

fn ways<'a>(work: &'a Work<'a>) -> Vec<Way<'a>> {
    let stream = work.stream;
    let elements = work.elements;
    let by_hand = || ByHand::new(stream.device().clone(), stream.queue().clone());
    let count = work.parameters[1];
    let new_pool = || Pool::<Wgpu>::new(stream.clone());
    let source = vec![1.0_f32; elements];

    let (mut pool, mut empty_pool, mut zeroed, mut uploading) =
        (new_pool(), new_pool(), new_pool(), new_pool());
    let (mut keeping, mut creating, mut listing, mut belted) =
        (by_hand(), by_hand(), by_hand(), by_hand());
    let kept = [(); 3].map(|()| keeping.buffer(elements));
    let kept = keeping.group(&kept);
    let mut list: Vec<(usize, wgpu::Buffer)> = Vec::new();
    let destination = belted.buffer(elements);
    let recorded = belted.buffer(elements);
    let mut belt = StagingBelt::new(stream.device().clone(), 1 << 16);
    let uploaded = source.clone();
    vec![
        Way::new("pool", move |scopes| {
            for _ in 0..scopes {
                work.scope(&mut pool);
            }
            stream.submit().unwrap();
        }),
        Way::new("buffers and bind group kept by hand", move |scopes| {
            for _ in 0..scopes {
                keeping.dispatch(&kept, work.parameters(), count);
            }
            keeping.submit();
        }),
        Way::new("three create_buffer, create_bind_group", move |scopes| {
            for _ in 0..scopes {
                let buffers = [(); 3].map(|()| creating.buffer(elements));
                let group = creating.group(&buffers);
                creating.dispatch(&group, work.parameters(), count);
            }
            creating.submit();
        }),
        Way::new("free list by size, create_bind_group", move |scopes| {
            for _ in 0..scopes {
                let buffers = [(); 3].map(|()| {
                    let found = list.iter().position(|(size, _)| *size == elements);
                    found.map_or_else(|| listing.buffer(elements), |at| list.swap_remove(at).1)
                });
                let group = listing.group(&buffers);
                listing.dispatch(&group, work.parameters(), count);
                list.extend(buffers.map(|buffer| (elements, buffer)));
            }
            listing.submit();
        }),
        Way::new("three acquires alone", move |scopes| {
            for _ in 0..scopes {
                let scope = empty_pool.scope();
                let views = [(); 3].map(|()| scope.acquire::<f32, _>(elements));
                std::hint::black_box(&views);
            }
        }),
        Way::new("pool, one acquire zeroed and no dispatch", move |scopes| {
            for _ in 0..scopes {
                std::hint::black_box(zeroed.scope().acquire_zeroed::<f32, _>(elements));
            }
            stream.submit().unwrap();
        }),
        Way::new("pool, acquire_from", move |scopes| {
            for _ in 0..scopes {
                std::hint::black_box(uploading.scope().acquire_from(&source));
            }
            stream.submit().unwrap();
        }),
        Way::new("a clear by `record` alone", move |scopes| {
            for _ in 0..scopes {
                let clear = |encoder: &mut wgpu::CommandEncoder| {
                    encoder.clear_buffer(&recorded, 0, None);
                };
                stream.record(clear).unwrap();
            }
            stream.submit().unwrap();
        }),
        Way::new("kept buffer, wgpu::util::StagingBelt", move |scopes| {
            let size = wgpu::BufferSize::new(uploaded.len() as u64 * 4).unwrap();
            for batch in 0..scopes.div_ceil(512) {
                for _ in batch * 512..scopes.min(batch * 512 + 512) {
                    let encoder = belted.encoder();
                    belt.write_buffer(encoder, &destination, 0, size)
                        .copy_from_slice(bytemuck::cast_slice(&uploaded));
                }
                belt.finish();
                belted.submit();
                belt.recall();
            }
        }),
    ]
}

fn print(ways: &[Way<'_>], scopes: usize) {
    let host = |way: &Way<'_>| figures(&way.seconds, scopes).unwrap();
    let [pool, ..] = host(&ways[0]);
    let mut table = Table::new();
    table.load_preset(presets::ASCII_MARKDOWN);
    table.set_header([
        "way",
        "µs a scope",
        "fastest",
        "slowest",
        "times the pool's",
        "on the device, µs",
    ]);
    for way in ways {
        let [median, fastest, slowest] = host(way);
        let numbers = [median, fastest, slowest].map(|number| format!("{number:.3}"));
        let ratio = format!("{:.2}", median / pool);
        let device = figures(&way.device_seconds, scopes);
        let device = device.map_or("no queries".to_owned(), |[median, fastest, slowest]| {
            format!("{median:.2} ({fastest:.2}–{slowest:.2})")
        });
        table.add_row([vec![way.name.to_owned()], numbers.to_vec(), vec![ratio, device]].concat());
    }
    for column in 1..6 {
        table.column_mut(column).unwrap().set_cell_alignment(CellAlignment::Right);
    }
    println!("{table}");
}

/// After one scope, nothing is created any more, and the blocks stay.
fn check_steady_state(work: &Work<'_>, scopes: usize) {
    let mut pool = Pool::<Wgpu>::new(work.stream.clone());
    let identities = work.scope(&mut pool);
    let before = work.stream.counts();
    for _ in 0..scopes {
        assert_eq!(work.scope(&mut pool), identities, "another block");
    }
    work.stream.submit().unwrap();
    let after = work.stream.counts();
    let created = after.buffers_created - before.buffers_created;
    let groups = after.bind_groups_created - before.bind_groups_created;
    println!(
        "{scopes} scopes, {} dispatches, {} submissions: {created} buffers and {groups} bind groups created, \
         and the three blocks stayed the same",
        after.dispatches - before.dispatches,
        after.submissions - before.submissions,
    );
    assert_eq!((created, groups), (0, 0), "buffers or bind groups were created in steady state");
}
