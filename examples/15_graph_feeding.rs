//! A loop that passes a new input to a graph and reads its output, in each pass. The first version
//! waits for the device in each pass; the second has three steps in flight. Both must return the
//! same bytes. On a device, the example prints the host's time per step.
//!
//! `cargo run --features device --example 15_graph_feeding -- [--simulated] [--steps N]`. The
//! example uses a device, or the simulated driver if the flag requests it or if there is no device.

use std::collections::VecDeque;
use std::error::Error;
use std::time::Instant;

use clap::Parser;
use pool_facade::pool_cuda::{Cuda, CudaDevice};
use pool_facade::pool_graph::{
    ArenaPolicy, CUDAGraphMemoryPool, Capture, CaptureError, CaptureSession, CapturedGraph,
    CudaArena, DeviceMemory, GraphMemoryBlock, GraphPoolConfig, ReadTicket, StagingConfig,
    StagingPool,
};

const ELEMENTS: usize = 1024;
const BYTES: usize = ELEMENTS * size_of::<f32>();
const IN_FLIGHT: usize = 3;

#[derive(Parser)]
struct Arguments {
    /// Use the simulated driver.
    #[arg(long)]
    simulated: bool,
    /// The number of passes of each loop.
    #[arg(long, default_value_t = 100)]
    steps: usize,
}

/// A graph that outputs its input together with the input of the previous pass.
struct Fed {
    graph: CapturedGraph,
    input: GraphMemoryBlock,
    outputs: [GraphMemoryBlock; 2],
}

impl Fed {
    fn on(device: &CudaDevice) -> Result<Self, Box<dyn Error>> {
        let memory = DeviceMemory::new(device);
        let config = GraphPoolConfig { initial: 0, maximum: u64::MAX };
        let pool = CUDAGraphMemoryPool::with_config(memory.clone(), config);
        let block = || pool.allocate(BYTES as u64);
        let (input, outputs) = (block()?, [block()?, block()?]);
        let lease = pool.lease(&[input.id(), outputs[0].id(), outputs[1].id()])?;
        let session = CaptureSession::new(&device.context().new_stream()?)?.lease(lease);
        let body = |capture: &Capture<'_>, (): &mut ()| -> Result<(), CaptureError> {
            let [mut now, mut before] =
                [capture.block::<f32>(&outputs[0])?, capture.block(&outputs[1])?];
            capture.copy(capture.main(), &mut before, &now)?;
            capture.copy(capture.main(), &mut now, &capture.block(&input)?)
        };
        let arena = CudaArena::new(memory, 256, ArenaPolicy::Monotone)?;
        let mut graph = session.prepare(arena)?.capture((), body)?;
        graph.write(&outputs[0], &[0.0_f32; ELEMENTS])?;
        graph.upload()?;
        Ok(Self { graph, input, outputs })
    }

    /// Waits for the device in each step.
    fn one_by_one(&mut self, samples: &[Vec<f32>]) -> Result<Vec<f32>, CaptureError> {
        let (mut results, mut output) = (Vec::new(), [0.0; ELEMENTS]);
        for sample in samples {
            self.graph.write(&self.input, sample)?;
            self.graph.replay()?;
            for block in &self.outputs {
                self.graph.read(block, &mut output)?;
                results.extend(output);
            }
        }
        Ok(results)
    }

    /// Waits for a step only after three more steps have been enqueued.
    fn in_flight(&mut self, samples: &[Vec<f32>]) -> Result<Vec<f32>, CaptureError> {
        // Each step needs buffers for one input and two outputs.
        let config = StagingConfig { buffers: IN_FLIGHT * 3, bytes: BYTES };
        let mut staging = StagingPool::with_config(self.graph.stream().context(), config)?;
        let (mut results, mut in_flight) = (Vec::new(), VecDeque::with_capacity(IN_FLIGHT));
        for sample in samples {
            if in_flight.len() == IN_FLIGHT {
                collect(in_flight.pop_front(), &mut results)?;
            }
            self.graph.enqueue_write(&mut staging, &self.input, sample)?;
            self.graph.replay()?;
            let [now, before] = &self.outputs;
            in_flight.push_back([
                self.graph.enqueue_read::<f32>(&mut staging, now, ELEMENTS)?,
                self.graph.enqueue_read::<f32>(&mut staging, before, ELEMENTS)?,
            ]);
        }
        in_flight.into_iter().try_for_each(|tickets| collect(Some(tickets), &mut results))?;
        Ok(results)
    }
}

/// Collects both results with a single wait, because the second ticket's copy runs last.
fn collect(
    tickets: Option<[ReadTicket<f32>; 2]>,
    results: &mut Vec<f32>,
) -> Result<(), CaptureError> {
    let Some([mut now, mut before]) = tickets else { return Ok(()) };
    let before = before.wait()?;
    results.extend(now.wait()?);
    results.extend(before);
    Ok(())
}

fn main() -> Result<(), Box<dyn Error>> {
    let arguments = Arguments::parse();
    let simulated = arguments.simulated || !Cuda::is_available();
    let device = pool_examples::open(simulated)?;
    let samples: Vec<Vec<f32>> = (0..=u16::MAX)
        .cycle()
        .map(|step| vec![f32::from(step); ELEMENTS])
        .take(arguments.steps)
        .collect();
    let timed = |name: &str, run: &dyn Fn(&mut Fed) -> Result<Vec<f32>, CaptureError>| {
        let mut fed = Fed::on(&device)?;
        let begin = Instant::now();
        let results = run(&mut fed)?;
        let time = begin.elapsed() / u32::try_from(arguments.steps.max(1))?;
        if !simulated {
            println!("{name}: {time:?} per step");
        }
        Ok::<_, Box<dyn Error>>(results)
    };
    let expected = timed("one by one", &|fed| fed.one_by_one(&samples))?;
    let results = timed("three in flight", &|fed| fed.in_flight(&samples))?;
    let same = results.iter().map(|one| one.to_bits()).eq(expected.iter().map(|one| one.to_bits()));
    if !same {
        return Err("the two loops differ".into());
    }
    println!(
        "{} steps with one input and two outputs each: the results one by one and with three in flight are bit-identical",
        arguments.steps
    );
    Ok(())
}
