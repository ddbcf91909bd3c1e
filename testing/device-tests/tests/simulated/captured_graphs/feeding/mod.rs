//! Graphs that are fed without waiting: the results equal those of one step after the other, with
//! any drops, forgets, refusals or intervening calls.

mod attacks;
mod faults;
mod forgotten;
mod lost;
mod ownership;
mod steady;

use std::sync::Arc;

use cudarc::driver::CudaStream;
use pool_core::{PoolView, PoolViewMut};
use pool_graph::{
    Capture, CaptureError, CaptureSession, CapturedGraph, GraphMemoryBlock, ReadTicket,
    StagingConfig, StagingPool,
};

use crate::common::{arena, pool};

/// The elements of an input.
pub(super) const N: usize = 64;

/// The elements of an output: the input of the step and of the previous one, and the graph's own
/// number.
pub(super) const OUT: usize = 2 * N + 1;

/// A graph whose output also depends on the previous step.
pub(super) struct Fed {
    pub(super) graph: CapturedGraph<f64>,
    pub(super) input: GraphMemoryBlock,
    pub(super) previous: GraphMemoryBlock,
    pub(super) output: GraphMemoryBlock,
}

impl Fed {
    /// Creates it on a stream, with blocks of a pool that is dropped before the graph. Its number
    /// is 0.5.
    pub(super) fn on(stream: &Arc<CudaStream>) -> Self {
        let pool = pool();
        let sizes = [N, N, OUT].map(|elements| (elements * size_of::<f64>()) as u64);
        let blocks = sizes.map(|bytes| pool.allocate(bytes).unwrap());
        let lease = pool.lease(&blocks.map(|block| block.id())).unwrap();
        let session = CaptureSession::new(stream).unwrap().lease(lease);
        let run = |capture: &Capture<'_>, number: &mut f64| body(capture, &blocks, *number);
        let graph = session.prepare(arena()).unwrap().capture(0.5, run).unwrap();
        let [input, previous, output] = blocks;
        Self { graph, input, previous, output }
    }

    /// Sets another number.
    pub(super) fn set_number(&mut self, number: f64) -> Result<(), CaptureError> {
        *self.graph.state()? = number;
        let blocks = [self.input, self.previous, self.output];
        self.graph.update(|capture, number| body(capture, &blocks, *number))
    }

    /// Creates a staging pool for `steps` steps in flight.
    pub(super) fn staging(&self, steps: usize) -> Result<StagingPool, CaptureError> {
        let config = StagingConfig { buffers: 2 * steps, bytes: OUT * size_of::<f64>() };
        StagingPool::with_config(self.graph.stream().context(), config)
    }

    /// Begins as if the previous step had been of zeros.
    pub(super) fn begin(&mut self, staging: &mut StagingPool) -> Result<(), CaptureError> {
        self.graph.enqueue_write(staging, &self.previous, &[0.0; N])
    }

    /// Enqueues a step that waits for nothing.
    pub(super) fn enqueue(
        &mut self,
        staging: &mut StagingPool,
        step: usize,
    ) -> Result<ReadTicket<f64>, CaptureError> {
        self.graph.enqueue_write(staging, &self.input, &input(step))?;
        self.graph.replay()?;
        self.graph.enqueue_read(staging, &self.output, OUT)
    }

    /// Runs `steps` steps, waits for each, and returns their outputs.
    pub(super) fn one_by_one(&mut self, steps: usize) -> Vec<Vec<u64>> {
        self.graph.write(&self.previous, &[0.0_f64; N]).unwrap();
        let step = |step: usize| {
            self.graph.write(&self.input, &input(step)).unwrap();
            self.graph.replay().unwrap();
            let mut output = [0.0; OUT];
            self.graph.read(&self.output, &mut output).unwrap();
            bits(&output)
        };
        (0..steps).map(step).collect()
    }
}

fn body(
    capture: &Capture<'_>,
    [input, previous, output]: &[GraphMemoryBlock; 3],
    number: f64,
) -> Result<(), CaptureError> {
    let main = capture.main();
    let mut input = capture.block::<f64>(input)?;
    let mut previous = capture.block::<f64>(previous)?;
    let mut output = capture.block::<f64>(output)?;
    let input = capture.lend(main, &mut input)?;
    let mut previous = capture.lend(main, &mut previous)?;
    let mut output = capture.lend(main, &mut output)?;
    let (mut now, rest) = output.view_mut()?.into_split_at(N).unwrap();
    let (mut before, own) = rest.into_split_at(N).unwrap();
    now.copy_from(input.view()?.into_split_at(N).unwrap().0)?;
    before.copy_from(previous.view()?.into_split_at(N).unwrap().0)?;
    own.into_split_at(1).unwrap().0.fill_with_value(number)?;
    previous
        .view_mut()?
        .into_split_at(N)
        .unwrap()
        .0
        .copy_from(input.view()?.into_split_at(N).unwrap().0)?;
    Ok(())
}

/// Returns the output of a step after a step of zeros, in bits.
pub(super) fn output_of(step: usize, number: f64) -> Vec<u64> {
    bits(&[&input(step)[..], &[0.0; N], &[number]].concat())
}

/// Returns numbers that no two steps share.
#[expect(clippy::cast_precision_loss, reason = "small numbers")]
pub(super) fn input(step: usize) -> [f64; N] {
    std::array::from_fn(|place| (step * N + place) as f64 * 0.1)
}

pub(super) fn bits(numbers: &[f64]) -> Vec<u64> {
    numbers.iter().map(|number| number.to_bits()).collect()
}
