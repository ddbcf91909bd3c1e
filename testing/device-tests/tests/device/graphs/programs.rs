//! Random programs for captures: temporaries with random lifetimes on several streams. The
//! generator is that of `pool-plan`, with the shape of the capture in issue 158352 of `pytorch`.
//! Each temporary is filled with its own number and copied out, so that a stray write also changes
//! the results.

use std::sync::Arc;

use cudarc::driver::{CudaStream, result};
use pool_graph::{
    ArenaPlan, CUDAGraphMemoryPool, Capture, CaptureError, CaptureSession, CaptureStream,
    CaptureView, DeviceMemory, GraphMemoryBlock, GraphPoolConfig,
};
use pool_plan::{Buffer, IntervalProblem, Options};

use crate::generator;

/// One step of a program. Temporaries are numbered in allocation order.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Step {
    /// Allocate a temporary and fill it.
    Take {
        stream: usize,
        bytes: usize,
    },
    /// Fill the temporary again.
    Use {
        stream: usize,
        temporary: usize,
    },
    /// Copy the temporary to the stream's sink.
    Read {
        stream: usize,
        temporary: usize,
    },
    /// Copy the temporary to its result.
    CopyOut {
        stream: usize,
        temporary: usize,
    },
    /// Drop the temporary's view.
    End {
        temporary: usize,
    },
    Wait {
        later: usize,
        earlier: usize,
    },
}

/// A program, with the size of each temporary.
#[derive(Clone, Debug)]
pub(crate) struct Program {
    pub(crate) streams: usize,
    pub(crate) steps: Vec<Step>,
    pub(crate) sizes: Vec<usize>,
}

/// The pool blocks that a program writes. There is one block per stream, so that the blocks do not
/// order streams. Each block begins with a sink as large as the largest temporary, followed by
/// results.
#[derive(Clone, Debug)]
pub(crate) struct Kept {
    blocks: Vec<GraphMemoryBlock>,
    /// For each temporary that is copied out, the stream and the offset within the stream's block.
    results: Vec<Option<(usize, usize)>>,
}

impl Kept {
    /// Allocates blocks for a program. Results that are not needed also go to the sink.
    fn new(pool: &CUDAGraphMemoryPool, program: &Program, results: bool) -> Self {
        let largest = program.sizes.iter().copied().max().unwrap_or(1);
        let mut bytes = vec![largest; program.streams];
        let mut places = vec![None; program.sizes.len()];
        for step in program.steps.iter().filter(|_| results) {
            if let Step::CopyOut { stream, temporary } = *step {
                places[temporary] = Some((stream, bytes[stream]));
                bytes[stream] += program.sizes[temporary];
            }
        }
        let blocks = bytes.iter().map(|&bytes| pool.allocate(bytes as u64).unwrap()).collect();
        Self { blocks, results: places }
    }

    /// Returns the sink of a stream.
    pub(crate) fn sink(&self, stream: usize) -> &GraphMemoryBlock {
        &self.blocks[stream]
    }
}

impl Program {
    /// Converts a generated capture. Each operation reads the buffers that it uses, and writes the
    /// buffer that it defines. The last reader of a buffer copies the buffer out.
    pub(crate) fn generated(setting: &generator::Capture) -> Self {
        let operations = setting.operations();
        let mut last_use = Vec::new();
        for (number, operation) in operations.iter().enumerate() {
            operation.uses.iter().for_each(|&buffer| last_use[buffer] = number);
            last_use.extend(operation.allocates.map(|_| usize::MAX));
        }
        // The other streams fork from the first stream.
        let first = operations.first().map_or(0, |operation| operation.stream);
        let renamed = |stream: usize| match stream {
            0 => first,
            _ if stream == first => 0,
            other => other,
        };
        let (mut steps, mut sizes) = (Vec::new(), Vec::new());
        for (number, operation) in operations.iter().enumerate() {
            let stream = renamed(operation.stream);
            let wait = |earlier| Step::Wait { later: stream, earlier: renamed(earlier) };
            steps.extend(operation.joins.map(wait));
            for &temporary in &operation.uses {
                steps.push(match last_use[temporary] == number {
                    true => Step::CopyOut { stream, temporary },
                    false => Step::Read { stream, temporary },
                });
            }
            if let Some(bytes) = operation.allocates {
                let bytes = usize::try_from(bytes).expect("less than 1 MiB");
                sizes.push(bytes);
                steps.push(Step::Take { stream, bytes });
            }
            steps.extend(operation.frees.map(|temporary| Step::End { temporary }));
        }
        Self { streams: setting.streams, steps, sizes }
    }

    /// Returns a random program of `operations` operations on `streams` streams. The operations
    /// write the buffers that they use.
    pub(crate) fn random(seed: u64, streams: usize, operations: usize) -> Self {
        let mut random = fastrand::Rng::with_seed(seed);
        let mut program = Self { streams, steps: Vec::new(), sizes: Vec::new() };
        // The number and the home stream of each temporary.
        let mut live: Vec<(usize, usize)> = Vec::new();
        for _ in 0..operations {
            let stream = random.usize(..streams);
            let other = random.usize(..streams);
            if random.f64() < 0.1 && other != stream {
                program.steps.push(Step::Wait { later: stream, earlier: other });
            }
            if live.is_empty() || random.f64() < 0.3 {
                let bytes = (1 << random.u32(..8)) * random.usize(1..=4) * 256;
                live.push((program.sizes.len(), stream));
                program.sizes.push(bytes);
                program.steps.push(Step::Take { stream, bytes });
                continue;
            }
            // A temporary is mostly used on its home stream. A use on another stream must wait for
            // the home stream.
            let here: Vec<usize> =
                (0..live.len()).filter(|&place| live[place].1 == stream).collect();
            let place = match random.choice(&here) {
                Some(&place) if random.f64() < 0.9 => place,
                _ => random.usize(..live.len()),
            };
            let (temporary, _) = live[place];
            if random.f64() < 0.4 {
                program.steps.push(Step::CopyOut { stream, temporary });
                program.steps.push(Step::End { temporary });
                live.swap_remove(place);
            } else {
                program.steps.push(Step::Use { stream, temporary });
            }
        }
        for (temporary, home) in live {
            program.steps.push(Step::CopyOut { stream: home, temporary });
            program.steps.push(Step::End { temporary });
        }
        program
    }

    /// Adds the program to a capture. The results go to the blocks.
    pub(crate) fn body(&self, capture: &Capture<'_>, kept: &Kept) -> Result<(), CaptureError> {
        let stream = |number: usize| match number {
            0 => Ok(capture.main()),
            branch => capture.branch(branch - 1),
        };
        let mut live: Vec<Option<CaptureView<'_, u8>>> = Vec::new();
        for step in &self.steps {
            match *step {
                Step::Take { stream: on, bytes } => {
                    let value = value_of(live.len());
                    let mut view = capture.acquire((stream(on)?, bytes))?;
                    capture.fill_bytes(stream(on)?, &mut view, value)?;
                    live.push(Some(view));
                }
                Step::Use { stream: on, temporary } => {
                    let view = live[temporary].as_mut().expect("it lives");
                    capture.fill_bytes(stream(on)?, view, value_of(temporary))?;
                }
                Step::Read { stream: on, temporary } => {
                    copy_to_block(capture, (stream(on)?, kept.sink(on), 0), &live[temporary])?;
                }
                Step::CopyOut { stream: on, temporary } => {
                    let place = kept.results[temporary].map_or(0, |(_, place)| place);
                    copy_to_block(capture, (stream(on)?, kept.sink(on), place), &live[temporary])?;
                }
                Step::End { temporary } => live[temporary] = None,
                Step::Wait { later, earlier } => capture.wait(stream(later)?, stream(earlier)?)?,
            }
        }
        Ok(())
    }

    /// Returns the total size of all temporaries in bytes.
    pub(crate) fn sum(&self) -> u64 {
        self.sizes.iter().sum::<usize>() as u64
    }

    /// Returns a plan in call order, as interval packing creates it.
    pub(crate) fn planned_by_call_order(&self) -> ArenaPlan {
        let time = |step: usize| i64::try_from(step).expect("so many steps");
        let mut ends = vec![(0, time(self.steps.len())); self.sizes.len()];
        let mut taken = 0;
        for (step, what) in self.steps.iter().enumerate() {
            match *what {
                Step::Take { .. } => {
                    ends[taken].0 = time(step);
                    taken += 1;
                }
                Step::End { temporary } => ends[temporary].1 = time(step),
                _ => {}
            }
        }
        let buffer = |(number, (&(begin, end), &size)): (usize, (&(i64, i64), &usize))| {
            let mut buffer = Buffer::new(number.to_string(), begin, end, size as u64);
            buffer.alignment = 256;
            buffer
        };
        let buffers = ends.iter().zip(&self.sizes).enumerate().map(buffer).collect();
        let problem = IntervalProblem::new(buffers).expect("they live for a while");
        // Any plan is sufficient.
        let options = Options { rounds: Some(0), ..Options::default() };
        let plan = problem.solve(&options).expect("there is always one");
        ArenaPlan::of_intervals(&problem, &plan).expect("of this problem")
    }
}

/// Copies a temporary to an offset in a block.
fn copy_to_block(
    capture: &Capture<'_>,
    (stream, block, place): (CaptureStream, &GraphMemoryBlock, usize),
    view: &Option<CaptureView<'_, u8>>,
) -> Result<(), CaptureError> {
    let view = view.as_ref().expect("it lives");
    let mut block = capture.block::<u8>(block)?;
    assert!(place + view.len() <= block.len());
    let (to, from) = (block.address() + place as u64, view.address());
    let copy = |stream: &Arc<CudaStream>| {
        // SAFETY: the block contains the bytes at this offset. The two ranges are disjoint, because
        // only one of them is in the arena.
        unsafe { result::memcpy_dtod_async(to, from, view.len(), stream.cu_stream()) }?;
        Ok(())
    };
    let uses = [view.read(), block.write()];
    // SAFETY: the work uses only the declared bytes, on this stream.
    unsafe { capture.enqueue(stream, &uses, copy) }
}

/// Returns the byte value with which a temporary is filled.
pub(crate) fn value_of(temporary: usize) -> u8 {
    u8::try_from(temporary % 251).expect("less than 251") + 1
}

/// Returns a session for a program, with the blocks that the program writes.
pub(crate) fn session(memory: &DeviceMemory, program: &Program) -> (CaptureSession, Kept) {
    session_with(memory, program, true)
}

/// Does the same as [`session`], with or without results.
pub(crate) fn session_with(
    memory: &DeviceMemory,
    program: &Program,
    results: bool,
) -> (CaptureSession, Kept) {
    let streams: Vec<Arc<CudaStream>> =
        (0..program.streams).map(|_| memory.context().new_stream().unwrap()).collect();
    let config = GraphPoolConfig { initial: 0, maximum: u64::MAX };
    let pool = CUDAGraphMemoryPool::with_config(memory.clone(), config);
    let kept = Kept::new(&pool, program, results);
    let ids: Vec<_> = kept.blocks.iter().map(GraphMemoryBlock::id).collect();
    let session = CaptureSession::new(&streams[0]).unwrap().lease(pool.lease(&ids).unwrap());
    let branch = |session: CaptureSession, stream| session.branch(stream).unwrap();
    (streams[1..].iter().fold(session, branch), kept)
}

/// Replays a graph several times, and checks every result after each replay.
pub(crate) fn check_results(
    graph: &mut pool_graph::CapturedGraph,
    program: &Program,
    kept: &Kept,
    replays: usize,
) {
    let bytes = |block: &GraphMemoryBlock| vec![0_u8; usize::try_from(block.size()).unwrap()];
    for _ in 0..replays {
        for block in &kept.blocks {
            graph.write(block, &bytes(block)).unwrap();
        }
        graph.replay().unwrap();
        let read = |block: &GraphMemoryBlock| {
            let mut bytes = bytes(block);
            graph.read(block, &mut bytes).unwrap();
            bytes
        };
        let blocks: Vec<Vec<u8>> = kept.blocks.iter().map(read).collect();
        for (temporary, place) in kept.results.iter().enumerate() {
            let Some((stream, place)) = *place else { continue };
            let result = &blocks[stream][place..place + program.sizes[temporary]];
            assert!(result.iter().all(|&byte| byte == value_of(temporary)), "{temporary}");
        }
    }
}
