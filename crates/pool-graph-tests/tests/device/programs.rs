//! Random programs for captures: temporaries that come and go on several streams, by the generator of
//! `pool-plan`, which has the shape of that in issue 158352 of `pytorch`. Each temporary is filled with
//! a number of its own, and copied out, so that whoever writes where it should not is found in the data,
//! too.

use std::sync::Arc;

use cudarc::driver::{CudaStream, result};
use pool_graph::{
    ArenaPlan, CUDAGraphMemoryPool, Capture, CaptureError, CaptureSession, CaptureView,
    DeviceMemory, GraphMemoryBlock, GraphPoolConfig,
};
use pool_plan::{Buffer, IntervalProblem, Options};

use crate::generator;

/// One step of a program. Temporaries are named by the order in which they are taken.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Step {
    /// It is taken and filled.
    Take {
        stream: usize,
        bytes: usize,
    },
    /// It is filled again.
    Use {
        stream: usize,
        temporary: usize,
    },
    /// It is copied to where the stream throws things.
    Read {
        stream: usize,
        temporary: usize,
    },
    /// It is copied to its result.
    CopyOut {
        stream: usize,
        temporary: usize,
    },
    /// Its view is dropped.
    End {
        temporary: usize,
    },
    Wait {
        later: usize,
        earlier: usize,
    },
}

/// A program, and the size of each of its temporaries.
#[derive(Clone, Debug)]
pub(crate) struct Program {
    pub(crate) streams: usize,
    pub(crate) steps: Vec<Step>,
    pub(crate) sizes: Vec<usize>,
}

/// The blocks of a pool that a program writes.
#[derive(Clone, Debug)]
pub(crate) struct Kept {
    /// For each temporary its bytes.
    results: Vec<GraphMemoryBlock>,
    /// For each stream as much as the largest of them has.
    sinks: Vec<GraphMemoryBlock>,
}

impl Kept {
    /// Where a stream throws things.
    pub(crate) fn sink(&self, stream: usize) -> &GraphMemoryBlock {
        &self.sinks[stream]
    }
}

impl Program {
    /// What the generator makes: an operation reads the buffers that it uses, and writes the one that
    /// it defines. The last to read a buffer copies it out.
    pub(crate) fn generated(setting: &generator::Capture) -> Self {
        let operations = setting.operations();
        let mut last_use = Vec::new();
        for (number, operation) in operations.iter().enumerate() {
            operation.uses.iter().for_each(|&buffer| last_use[buffer] = number);
            last_use.extend(operation.allocates.map(|_| usize::MAX));
        }
        let (mut steps, mut sizes) = (Vec::new(), Vec::new());
        for (number, operation) in operations.iter().enumerate() {
            let stream = operation.stream;
            steps.extend(operation.joins.map(|earlier| Step::Wait { later: stream, earlier }));
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

    /// A random one of so many operations on so many streams, which write what they use.
    pub(crate) fn random(seed: u64, streams: usize, operations: usize) -> Self {
        let mut random = fastrand::Rng::with_seed(seed);
        let mut program = Self { streams, steps: Vec::new(), sizes: Vec::new() };
        // Number and home of each.
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
            // Mostly at home: whoever uses what others have made must wait for them.
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

    /// Puts it into a capture; its results go to the blocks.
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
                    let mut view = capture.acquire_on(stream(on)?, bytes)?;
                    capture.fill_bytes(stream(on)?, &mut view, value)?;
                    live.push(Some(view));
                }
                Step::Use { stream: on, temporary } => {
                    let view = live[temporary].as_mut().expect("it lives");
                    capture.fill_bytes(stream(on)?, view, value_of(temporary))?;
                }
                Step::Read { stream: on, temporary } => {
                    let view = live[temporary].as_ref().expect("it lives");
                    let mut sink = capture.block::<u8>(kept.sink(on))?;
                    let (to, from) = (sink.device_pointer(), view.device_pointer());
                    let copy = |stream: &Arc<CudaStream>| {
                        // SAFETY: the sink is as large as the largest temporary.
                        unsafe {
                            result::memcpy_dtod_async(to, from, view.len(), stream.cu_stream())
                        }?;
                        Ok(())
                    };
                    let uses = [view.read(), sink.write()];
                    // SAFETY: it uses what it says, on this stream.
                    unsafe { capture.enqueue(stream(on)?, &uses, copy) }?;
                }
                Step::CopyOut { stream: on, temporary } => {
                    let view = live[temporary].as_ref().expect("it lives");
                    let mut result = capture.block(&kept.results[temporary])?;
                    capture.copy(stream(on)?, &mut result, view)?;
                }
                Step::End { temporary } => live[temporary] = None,
                Step::Wait { later, earlier } => capture.wait(stream(later)?, stream(earlier)?)?,
            }
        }
        Ok(())
    }

    /// Bytes of all temporaries.
    pub(crate) fn sum(&self) -> u64 {
        self.sizes.iter().sum::<usize>() as u64
    }

    /// A plan by the order of the calls, as interval packing makes it.
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
        // Any plan will do.
        let options = Options { rounds: Some(0), ..Options::default() };
        let plan = problem.solve(&options).expect("there is always one");
        ArenaPlan::of_intervals(&problem, &plan).expect("of this problem")
    }

    fn copies_out(&self, temporary: usize) -> bool {
        let is_it =
            |step: &Step| matches!(step, Step::CopyOut { temporary: one, .. } if *one == temporary);
        self.steps.iter().any(is_it)
    }
}

/// What a temporary is filled with.
pub(crate) fn value_of(temporary: usize) -> u8 {
    u8::try_from(temporary % 251).expect("less than 251") + 1
}

/// A session for a program, with the blocks that it writes.
pub(crate) fn session(memory: &DeviceMemory, program: &Program) -> (CaptureSession, Kept) {
    let streams: Vec<Arc<CudaStream>> =
        (0..program.streams).map(|_| memory.context().new_stream().unwrap()).collect();
    let config = GraphPoolConfig { initial: 0, maximum: u64::MAX };
    let pool = CUDAGraphMemoryPool::new(memory.clone(), config);
    let block = |bytes: usize| pool.allocate(bytes as u64).unwrap();
    let largest = program.sizes.iter().copied().max().unwrap_or(1);
    let kept = Kept {
        results: program.sizes.iter().map(|&bytes| block(bytes)).collect(),
        sinks: streams.iter().map(|_| block(largest)).collect(),
    };
    let ids: Vec<_> = kept.results.iter().chain(&kept.sinks).map(GraphMemoryBlock::id).collect();
    let session = CaptureSession::new(&streams[0]).unwrap().lease(pool.lease(&ids).unwrap());
    let branch = |session: CaptureSession, stream| session.branch(stream).unwrap();
    (streams[1..].iter().fold(session, branch), kept)
}

/// Replays a graph some times; each time every result is what it must be.
pub(crate) fn check_results(
    graph: &mut pool_graph::CapturedGraph,
    program: &Program,
    kept: &Kept,
    replays: usize,
) {
    let of_program = kept.results.iter().enumerate();
    let results: Vec<(usize, &GraphMemoryBlock)> =
        of_program.filter(|&(temporary, _)| program.copies_out(temporary)).collect();
    for _ in 0..replays {
        for (_, result) in &results {
            graph.write(result, &[0_u8; 256]).unwrap();
        }
        graph.replay().unwrap();
        for &(temporary, result) in &results {
            let mut bytes = vec![0_u8; program.sizes[temporary]];
            graph.read(result, &mut bytes).unwrap();
            assert!(bytes.iter().all(|&byte| byte == value_of(temporary)), "{temporary}");
        }
    }
}
