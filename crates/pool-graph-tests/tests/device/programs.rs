//! Random programs for captures: temporaries that come and go on several streams, with the shape of the
//! generator in issue 158352 of `pytorch`. Each temporary is filled with a number of its own,
//! and copied out on its last use, so that whoever writes where it should not is found in the data, too.

use std::sync::Arc;

use cudarc::driver::CudaStream;
use pool_graph::{
    CUDAGraphMemoryPool, Capture, CaptureError, CaptureSession, CaptureView, DeviceMemory,
    GraphMemoryBlock, GraphPoolConfig,
};

/// One step of a program. Temporaries are named by the order in which they are taken.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Step {
    Take { stream: usize, bytes: usize },
    Use { stream: usize, temporary: usize },
    CopyOut { stream: usize, temporary: usize },
    Wait { later: usize, earlier: usize },
}

/// A program, and the size of each of its temporaries.
#[derive(Clone, Debug)]
pub(crate) struct Program {
    pub(crate) streams: usize,
    pub(crate) steps: Vec<Step>,
    pub(crate) sizes: Vec<usize>,
}

impl Program {
    /// A random one of so many operations on so many streams.
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
                live.swap_remove(place);
            } else {
                program.steps.push(Step::Use { stream, temporary });
            }
        }
        for (temporary, home) in live {
            program.steps.push(Step::CopyOut { stream: home, temporary });
        }
        program
    }

    /// Puts it into a capture; its results go to the blocks.
    pub(crate) fn body(
        &self,
        capture: &Capture<'_>,
        outputs: &[GraphMemoryBlock],
    ) -> Result<(), CaptureError> {
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
                Step::CopyOut { stream: on, temporary } => {
                    let view = live[temporary].take().expect("it lives");
                    let mut output = capture.block(&outputs[temporary])?;
                    capture.copy(stream(on)?, &mut output, &view)?;
                }
                Step::Wait { later, earlier } => capture.wait(stream(later)?, stream(earlier)?)?,
            }
        }
        Ok(())
    }
}

/// What a temporary is filled with.
pub(crate) fn value_of(temporary: usize) -> u8 {
    u8::try_from(temporary % 251).expect("less than 251") + 1
}

/// A session for a program, with a block for each result.
pub(crate) fn session(
    memory: &DeviceMemory,
    program: &Program,
) -> (CaptureSession, Vec<GraphMemoryBlock>) {
    let streams: Vec<Arc<CudaStream>> =
        (0..program.streams).map(|_| memory.context().new_stream().unwrap()).collect();
    let config = GraphPoolConfig { initial: 0, maximum: u64::MAX };
    let pool = CUDAGraphMemoryPool::new(memory.clone(), config);
    let outputs: Vec<GraphMemoryBlock> =
        program.sizes.iter().map(|&bytes| pool.allocate(bytes as u64).unwrap()).collect();
    let ids: Vec<_> = outputs.iter().map(GraphMemoryBlock::id).collect();
    let session = CaptureSession::new(&streams[0]).unwrap().lease(pool.lease(&ids).unwrap());
    let branch = |session: CaptureSession, stream| session.branch(stream).unwrap();
    (streams[1..].iter().fold(session, branch), outputs)
}

/// Replays a graph some times; each time every result is what it must be.
pub(crate) fn check_results(
    graph: &mut pool_graph::CapturedGraph,
    program: &Program,
    outputs: &[GraphMemoryBlock],
    replays: usize,
) {
    for _ in 0..replays {
        for output in outputs {
            graph.write(output, &[0_u8; 256]).unwrap();
        }
        graph.replay().unwrap();
        for (temporary, output) in outputs.iter().enumerate() {
            let mut bytes = vec![0_u8; program.sizes[temporary]];
            graph.read(output, &mut bytes).unwrap();
            assert!(bytes.iter().all(|&byte| byte == value_of(temporary)), "{temporary}");
        }
    }
}
