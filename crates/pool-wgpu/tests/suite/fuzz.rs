//! Random programs of pools, bytes, kernels, closures and readings, on streams that threads share,
//! against vectors. They include mistakes, which are refused and change nothing.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use pool_conformance::programs::test_cases;
use pool_core::{DynamicPool, Handle, LendView, PoolView, PoolViewMut};
use pool_wgpu::{Access, Binding, Kernel, Reading, Stream, Wgpu, WgpuError, wgpu};
use proptest::prelude::{Rng, RngCore};
use proptest::test_runner::{RngAlgorithm, TestRng};

use crate::kernels::{axpy, axpy_parameters};
use crate::support::own_stream;

/// Lengths that arrays have.
const LENGTHS: [usize; 9] = [0, 1, 3, 63, 64, 65, 200, 1_000, 5_000];
/// Numbers are kept below this, so that they are exact.
const EXACT: f32 = 8e6;

/// A pool, and the expected contents of its arrays.
struct World {
    stream: usize,
    pool: DynamicPool<Wgpu>,
    arrays: Vec<(Handle<f32>, Vec<f32>)>,
}

struct Program<'a> {
    random: TestRng,
    streams: &'a [Stream],
    kernels: Vec<Kernel>,
    /// A kernel whose array no block of these programs is as long as.
    greedy: Vec<Kernel>,
    worlds: Vec<World>,
    readings: Vec<(Reading<f32>, Vec<f32>)>,
    compared: usize,
    refused: usize,
}

fn greedy(stream: &Stream) -> Kernel {
    let source = "@group(0) @binding(0) var<storage, read_write> y: array<f32, 65536>;
        @compute @workgroup_size(1) fn main() { y[0] = 7.0; }";
    stream.kernel(source, "main", &[Access::ReadWrite]).unwrap()
}

fn buffer_of(binding: &Binding<'_>) -> wgpu::Buffer {
    match binding.resource() {
        wgpu::BindingResource::Buffer(binding) => binding.buffer.clone(),
        other => panic!("{other:?}"),
    }
}

impl<'a> Program<'a> {
    fn new(streams: &'a [Stream], seed: u64) -> Self {
        let mut bytes = [0; 32];
        bytes[..8].copy_from_slice(&seed.to_le_bytes());
        let world = |number: usize| {
            let stream = number % streams.len();
            let pool = DynamicPool::<Wgpu>::new(streams[stream].clone());
            World { stream, pool, arrays: Vec::new() }
        };
        Self {
            random: TestRng::from_seed(RngAlgorithm::ChaCha, &bytes),
            streams,
            kernels: streams.iter().map(axpy).collect(),
            greedy: streams.iter().map(greedy).collect(),
            worlds: (0..4).map(world).collect(),
            readings: Vec::new(),
            compared: 0,
            refused: 0,
        }
    }

    fn below(&mut self, limit: usize) -> usize {
        if limit == 0 { 0 } else { self.random.random_range(0..limit) }
    }

    fn number(&mut self) -> f32 {
        f32::from((self.random.next_u32() & 255) as u8)
    }

    /// Returns two places, the first not after the second.
    fn range(&mut self, length: usize) -> std::ops::Range<usize> {
        let (one, two) = (self.below(length + 1), self.below(length + 1));
        one.min(two)..one.max(two)
    }

    /// One array of a world, if there is one.
    fn array(&mut self) -> Option<(usize, usize)> {
        let world = self.below(self.worlds.len());
        let count = self.worlds[world].arrays.len();
        (count > 0).then(|| (world, self.below(count)))
    }

    fn step(&mut self) {
        match self.below(16) {
            0..3 => self.acquire(),
            3 => self.reset(),
            4 => self.compare(),
            5 => self.read(),
            6 => self.wait(),
            7..9 => self.write(),
            9 => self.copy(),
            10..12 => self.dispatch(),
            12 => self.record(),
            13 => self.submit(),
            _ => self.mistake(),
        }
    }

    fn acquire(&mut self) {
        let (world, length) = (self.below(self.worlds.len()), self.below(LENGTHS.len()));
        let (length, value, how) = (LENGTHS[length], self.number(), self.below(3));
        let World { pool, arrays, .. } = &mut self.worlds[world];
        let (handle, value) = match how {
            0 => (pool.acquire_zeroed::<f32>(length), 0.0),
            1 => (pool.acquire_from(&vec![value; length]), value),
            _ => (pool.acquire_filled(length, value), value),
        };
        arrays.push((handle, vec![value; length]));
    }

    fn reset(&mut self) {
        let (world, how) = (self.below(self.worlds.len()), self.below(3));
        let World { pool, arrays, .. } = &mut self.worlds[world];
        match how {
            0 => pool.reset(),
            1 => drop(pool.trim()),
            _ => drop(pool.clear()),
        }
        if how != 1 {
            arrays.clear();
        }
    }

    fn compare(&mut self) {
        let Some((world, array)) = self.array() else { return };
        let World { pool, arrays, .. } = &self.worlds[world];
        let (handle, expected) = &arrays[array];
        assert_eq!(pool.get(*handle).unwrap().copy_to_vec().unwrap(), *expected);
        self.compared += 1;
    }

    fn read(&mut self) {
        let Some((world, array)) = self.array() else { return };
        let World { pool, arrays, .. } = &self.worlds[world];
        let (handle, expected) = &arrays[array];
        self.readings.push((pool.get(*handle).unwrap().read().unwrap(), expected.clone()));
    }

    fn wait(&mut self) {
        if self.readings.is_empty() {
            return;
        }
        let at = self.below(self.readings.len());
        let (reading, expected) = self.readings.swap_remove(at);
        match self.below(4) {
            0 => drop(reading),
            1 => thread::scope(|threads| {
                threads.spawn(|| assert_eq!(reading.wait().unwrap(), expected)).join().unwrap();
            }),
            _ => {
                assert_eq!(reading.wait().unwrap(), expected);
                self.compared += 1;
            }
        }
    }

    fn write(&mut self) {
        let Some((world, array)) = self.array() else { return };
        let length = self.worlds[world].arrays[array].1.len();
        let (range, value, is_fill) = (self.range(length), self.number(), self.below(2) == 0);
        let World { pool, arrays, .. } = &mut self.worlds[world];
        let (handle, expected) = &mut arrays[array];
        let mut view = pool.get_mut(*handle).unwrap();
        let mut part = view.part_mut(range.clone()).unwrap();
        if is_fill {
            part.fill_with_value(value).unwrap();
        } else {
            part.copy_from_host(&vec![value; range.len()]).unwrap();
        }
        expected[range].fill(value);
    }

    /// Two arrays of two worlds; `None` if there are none.
    fn two(&mut self) -> Option<[(usize, usize); 2]> {
        let (to, from) = (self.array()?, self.array()?);
        (to.0 != from.0).then_some([to, from])
    }

    fn copy(&mut self) {
        let Some([(to, to_array), (from, from_array)]) = self.two() else { return };
        let lengths =
            [(to, to_array), (from, from_array)].map(|(w, a)| self.worlds[w].arrays[a].1.len());
        let count = self.below(lengths[0].min(lengths[1]) + 1);
        let (to_at, from_at) =
            (self.below(lengths[0] - count + 1), self.below(lengths[1] - count + 1));
        let [to, from] = self.worlds.get_disjoint_mut([to, from]).unwrap();
        let ((to_handle, expected), (from_handle, source)) =
            (&mut to.arrays[to_array], &from.arrays[from_array]);
        let view = from.pool.get(*from_handle).unwrap();
        let mut target = to.pool.get_mut(*to_handle).unwrap();
        let mut part = target.part_mut(to_at..to_at + count).unwrap();
        part.copy_from(view.part(from_at..from_at + count).unwrap()).unwrap();
        expected[to_at..to_at + count].copy_from_slice(&source[from_at..from_at + count]);
    }

    fn dispatch(&mut self) {
        let Some([(to, to_array), (from, from_array)]) = self.two() else { return };
        let times = if self.below(20) == 0 { 530 } else { 1 };
        let [to, from] = self.worlds.get_disjoint_mut([to, from]).unwrap();
        let ((y, expected), (x, source)) = (&mut to.arrays[to_array], &from.arrays[from_array]);
        let count = expected.len().min(source.len());
        if count == 0 || to.stream != from.stream {
            return;
        }
        let (mut y, x) = (to.pool.get_mut(*y).unwrap(), from.pool.get(*x).unwrap());
        let (stream, kernel) = (&self.streams[to.stream], &self.kernels[to.stream]);
        let groups = u32::try_from(count.div_ceil(64)).unwrap();
        for round in 0..times {
            let factor = f32::from((round % 3) as u8) - 1.0;
            let parameters = axpy_parameters(factor, u32::try_from(count).unwrap());
            let bindings = [y.binding_mut().unwrap(), x.binding().unwrap()];
            stream.dispatch(kernel, &bindings, &parameters, [groups, 1, 1]).unwrap();
            for (y, x) in expected.iter_mut().zip(source) {
                *y += factor * x;
            }
        }
        // Missing parameters are zeros, with which the kernel does nothing.
        stream
            .dispatch(kernel, &[y.binding_mut().unwrap(), x.binding().unwrap()], &[], [1; 3])
            .unwrap();
        if expected.iter().any(|number| number.abs() > EXACT) {
            y.fill_with_value(1.0).unwrap();
            expected.fill(1.0);
        }
    }

    /// A closure that clears part of an array, or panics before it returns.
    fn record(&mut self) {
        let Some((world, array)) = self.array() else { return };
        let panics = self.below(4) == 0;
        let World { stream, pool, arrays } = &mut self.worlds[world];
        let (handle, expected) = &mut arrays[array];
        if expected.is_empty() {
            return;
        }
        let mut view = pool.get_mut(*handle).unwrap();
        let buffer = buffer_of(&view.binding_mut().unwrap());
        let recorded = catch_unwind(AssertUnwindSafe(|| {
            self.streams[*stream].record(|encoder| {
                encoder.clear_buffer(&buffer, 0, Some(4));
                if panics {
                    std::panic::resume_unwind(Box::new("in a closure"));
                }
            })
        }));
        assert_eq!(recorded.is_err(), panics);
        if let Ok(recorded) = recorded {
            recorded.unwrap();
            expected[0] = 0.0;
        }
    }

    fn submit(&mut self) {
        let at = self.below(self.streams.len());
        let stream = &self.streams[at];
        match self.below(3) {
            0 => stream.submit().unwrap(),
            1 => {
                let encoder = stream.device().create_command_encoder(&Default::default());
                stream.submit_with([encoder.finish()]).unwrap();
            }
            _ => drop(stream.device().poll(wgpu::PollType::Poll).unwrap()),
        }
    }

    fn mistake(&mut self) {
        let Some((world, array)) = self.array() else { return };
        let (which, other) = (self.below(7), self.below(self.streams.len()));
        let World { stream: at, pool, arrays } = &mut self.worlds[world];
        let (stream, other) = (&self.streams[*at], &self.streams[other]);
        let mut view = pool.get_mut(arrays[array].0).unwrap();
        let device = stream.device();
        let refused = match which {
            0 => stream.record(|encoder| {
                std::mem::forget(encoder.begin_compute_pass(&Default::default()).forget_lifetime());
            }),
            1 => stream
                .record(|encoder| *encoder = device.create_command_encoder(&Default::default())),
            2 => stream.record(|encoder| encoder.push_debug_group("never popped")),
            3 => match view.binding_mut() {
                Ok(binding) => stream.dispatch(&self.greedy[*at], &[binding], &[], [1; 3]),
                Err(error) => Err(error),
            },
            4 => stream.record(|_| stream.submit()).unwrap(),
            5 => {
                let own = own_buffer(device);
                stream.record(|encoder| encoder.clear_buffer(&own, 0, None)).unwrap();
                own.destroy();
                let refused = stream.submit();
                // Another thread may have submitted it before it was destroyed, or afterwards.
                if refused.is_ok() { Err(WgpuError::Reentered) } else { refused }
            }
            _ => match stream.record(|_| other.pending()).unwrap() {
                Ok(_) => Err(WgpuError::Reentered),
                Err(error) => Err(error),
            },
        };
        assert!(refused.is_err(), "mistake {which}");
        self.refused += 1;
    }
}

fn own_buffer(device: &wgpu::Device) -> wgpu::Buffer {
    device.create_buffer(&wgpu::BufferDescriptor {
        label: None,
        size: 4,
        usage: wgpu::BufferUsages::COPY_DST,
        mapped_at_creation: false,
    })
}

/// Runs programs of `steps` steps on some threads, which share these streams.
fn run(streams: &[Stream], threads: u64, programs: u64, steps: usize) {
    let (compared, refused) = (AtomicUsize::new(0), AtomicUsize::new(0));
    thread::scope(|scope| {
        for thread in 0..threads {
            let (compared, refused) = (&compared, &refused);
            scope.spawn(move || {
                for seed in 0..programs {
                    let mut program = Program::new(streams, seed * threads + thread + offset());
                    (0..steps).for_each(|_| program.step());
                    for (reading, expected) in program.readings.drain(..) {
                        assert_eq!(reading.wait().unwrap(), expected);
                    }
                    compared.fetch_add(program.compared, Ordering::Relaxed);
                    refused.fetch_add(program.refused, Ordering::Relaxed);
                }
            });
        }
    });
    println!(
        "{threads} threads with {programs} programs: {compared:?} compared, {refused:?} refused"
    );
    for stream in streams {
        let counts = stream.counts();
        assert_eq!(counts.buffers_created, counts.buffers_freed);
        assert_eq!(stream.submit(), Ok(()));
    }
}

/// Returns the first seed.
fn offset() -> u64 {
    std::env::var("POOL_TEST_SEED").ok().and_then(|seed| seed.parse().ok()).unwrap_or(0)
}

#[test]
fn random_programs_with_mistakes_on_two_threads_two_devices_and_three_streams_agree_with_vectors() {
    let Some((one, _quiet)) = own_stream(wgpu::Limits::default()) else { return };
    let Some((far, _quiet)) = own_stream(wgpu::Limits::default()) else { return };
    let two = Stream::new(one.device().clone(), one.queue().clone()).unwrap();
    run(&[one, two, far], 2, u64::from(test_cases() / 400).max(1), 150);
}
