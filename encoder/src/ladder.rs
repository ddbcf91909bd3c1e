//! The encoder as captured graphs, one for each of some numbers of tokens, which share one arena.

use std::ops::Range;
use std::sync::Arc;

use cudarc::driver::CudaStream;
use pool_facade::pool_cuda::CudaDevice;
use pool_facade::pool_graph::{
    CUDAGraphMemoryPool, Capture, CaptureSession, CapturedGraph, DeviceMemory, Footprint,
    GraphMemoryBlock, GraphPoolConfig, Probe, ReadTicket, StagingConfig, StagingPool,
};

use pool_facade::{Cuda, PoolView};

use crate::algebra::Failure;
use crate::cuda::OnCuda;
use crate::encode::{HeadsAtOnce, encode};
use crate::model::{Configuration, Model, Tensor, Tensors};
use crate::sentences::{Batch, Sentences, positions_of};

/// Captured graphs that each encode a fixed number of sentences, from the most tokens to the
/// fewest.
///
/// All of them run on one stream, and never at once. They share the weights, and one arena for their temporaries, with
/// the size of the largest.
#[derive(Debug)]
pub struct Ladder {
    configuration: Configuration,
    count: usize,
    rungs: Vec<Rung>,
}

/// One graph, and its inputs and outputs.
#[derive(Debug)]
struct Rung {
    graph: CapturedGraph<()>,
    batch: Batch<GraphMemoryBlock>,
    to: GraphMemoryBlock,
    probe: Probe,
}

/// The common parts of all graphs' captures.
struct Parts<'a> {
    kernels: &'a OnCuda,
    pool: &'a CUDAGraphMemoryPool,
    stream: &'a Arc<CudaStream>,
    weights: &'a GraphMemoryBlock,
    model: &'a Model<Range<usize>>,
}

impl Ladder {
    /// Captures graphs for `count` sentences of each of these numbers of tokens.
    ///
    /// # Errors
    ///
    /// Fails if a tensor is missing, if the model has fewer positions, or if the device has no
    /// memory.
    pub fn new(
        device: &CudaDevice,
        configuration: Configuration,
        tensors: &impl Tensors,
        count: usize,
        tokens: &[usize],
    ) -> Result<Self, Failure> {
        let mut tokens = tokens.to_vec();
        tokens.sort_unstable();
        if let Some(most) = tokens.last().filter(|most| **most > configuration.positions) {
            let positions = configuration.positions;
            return Err(format!("{most} tokens, but the model has {positions} positions").into());
        }
        let kernels = OnCuda::new(device)?;
        let (model, numbers) = packed(&kernels, configuration, tensors)?;
        // Exactly the allocations below: the pool's chunks are as large as its maximum leaves.
        let sizes = tokens.iter().flat_map(|tokens| Rung::lengths(&configuration, count, *tokens));
        let bytes = |length: usize| (length * NUMBER).next_multiple_of(ALIGNMENT) as u64;
        let maximum = sizes.chain([numbers.len()]).map(bytes).sum();
        let config = GraphPoolConfig { initial: 0, maximum };
        let pool = CUDAGraphMemoryPool::with_config(DeviceMemory::new(device), config);
        let parts = Parts {
            kernels: &kernels,
            stream: &device.context().new_stream()?,
            weights: &allocate(&pool, numbers.len())?,
            model: &model,
            pool: &pool,
        };
        let mut rungs: Vec<Rung> = Vec::new();
        for tokens in tokens.into_iter().rev() {
            let mut rung = Rung::new(&parts, count, tokens, rungs.first())?;
            if rungs.is_empty() {
                rung.graph.write(parts.weights, &numbers)?;
            }
            rungs.push(rung);
        }
        Ok(Self { configuration, count, rungs })
    }

    /// Encodes sentences by the graph with the fewest tokens that is large enough. Missing
    /// sentences are filled up with the first one.
    ///
    /// # Errors
    ///
    /// Fails if there are no sentences or more than a graph encodes, if one has more tokens than
    /// any graph, or if a replay fails.
    pub fn encode(&mut self, sentences: &[Vec<u32>]) -> Result<Vec<f32>, Failure> {
        let numbers = self.numbers();
        let (rung, all) = self.rung_for(sentences)?;
        let mut numbers = rung.replay(&all, numbers)?;
        numbers.truncate(sentences.len() * self.configuration.hidden);
        Ok(numbers)
    }

    /// Returns buffers for `in_flight` batches of sentences that are enqueued and not waited for.
    ///
    /// # Errors
    ///
    /// Same as [`StagingPool::with_config`]; also fails if there is no graph.
    pub fn staging(&self, in_flight: usize) -> Result<StagingPool, Failure> {
        let largest = self.rungs.first().ok_or("the ladder has no graphs")?;
        let words = largest.batch.tokens * self.count * size_of::<u32>();
        let bytes = words.max(self.numbers() * size_of::<f32>());
        // The inputs are words and lengths, the output numbers.
        let config = StagingConfig { buffers: in_flight * 3, bytes };
        Ok(StagingPool::with_config(largest.graph.stream().context(), config)?)
    }

    /// Does the same as [`encode`](Self::encode), without waiting for the device. It writes the
    /// sentences and enqueues a replay. The ticket waits for the output, numbers for all sentences
    /// of a graph.
    ///
    /// # Errors
    ///
    /// Same as [`encode`](Self::encode); also fails if all buffers are in use.
    pub fn enqueue(
        &mut self,
        staging: &mut StagingPool,
        sentences: &[Vec<u32>],
    ) -> Result<ReadTicket<f32>, Failure> {
        let numbers = self.numbers();
        let (rung, all) = self.rung_for(sentences)?;
        rung.graph.enqueue_write(staging, &rung.batch.words, all.words())?;
        rung.graph.enqueue_write(staging, &rung.batch.lengths, all.lengths())?;
        rung.graph.replay()?;
        Ok(rung.graph.enqueue_read(staging, &rung.to, numbers)?)
    }

    /// Returns the graph with the fewest tokens that the sentences fit, and the sentences filled up
    /// for it.
    fn rung_for(&mut self, sentences: &[Vec<u32>]) -> Result<(&mut Rung, Sentences), Failure> {
        let (longest, count) = (sentences.iter().map(Vec::len).max(), self.count);
        let Some(longest) = longest.filter(|_| sentences.len() <= count) else {
            return Err(format!("{} sentences, but must be 1 to {count}", sentences.len()).into());
        };
        let mut all = sentences.to_vec();
        all.resize(count, sentences[0].clone());
        let fits = |rung: &&mut Rung| rung.batch.tokens >= longest;
        let rung = self.rungs.iter_mut().rev().find(fits);
        let rung = rung.ok_or_else(|| format!("no graph has {longest} tokens"))?;
        let all = Sentences::new(&self.configuration, rung.batch.tokens, &all)?;
        Ok((rung, all))
    }

    /// Returns the number of output numbers of a graph.
    fn numbers(&self) -> usize {
        self.count * self.configuration.hidden
    }

    /// Returns the tokens of each graph, and the footprint of its temporaries alone, from the
    /// largest on.
    pub fn footprints(&self) -> impl Iterator<Item = (usize, Footprint)> {
        self.rungs.iter().map(|rung| (rung.batch.tokens, rung.probe.footprint()))
    }

    /// Returns the bytes of the arena that all graphs share.
    #[must_use]
    pub fn arena_bytes(&self) -> u64 {
        self.rungs.first().map_or(0, |rung| rung.probe.arena_bytes())
    }
}

impl Rung {
    /// Returns the elements of its inputs and outputs: words, positions, kinds, lengths, and
    /// results.
    fn lengths(configuration: &Configuration, count: usize, tokens: usize) -> [usize; 5] {
        let all = count * tokens;
        [all, all, all, count, count * configuration.hidden]
    }

    /// Captures a graph, beside another one if there is one.
    fn new(
        parts: &Parts<'_>,
        count: usize,
        tokens: usize,
        beside: Option<&Self>,
    ) -> Result<Self, Failure> {
        let block = |length| allocate(parts.pool, length);
        let [words, positions, kinds, lengths, to] =
            Self::lengths(&parts.model.configuration, count, tokens).map(block);
        let batch = Batch {
            count,
            tokens,
            words: words?,
            positions: positions?,
            kinds: kinds?,
            lengths: lengths?,
        };
        let to = to?;
        let Batch { words, positions, kinds, lengths, .. } = &batch;
        let ids = [words, positions, kinds, lengths, &to, parts.weights].map(GraphMemoryBlock::id);
        let session = CaptureSession::new(parts.stream)?.lease(parts.pool.lease(&ids)?);
        let body = |capture: &Capture<'_>, (): &mut ()| parts.body(capture, &batch, &to);
        let probe = session.probe(&mut (), body)?;
        let prepared = match beside {
            Some(rung) => session.beside(&rung.graph, &probe)?,
            None => session.planned(&probe)?,
        };
        let mut graph = prepared.capture((), body)?;
        graph.write(&batch.positions, &positions_of(count, tokens))?;
        graph.write(&batch.kinds, &vec![0_u32; count * tokens])?;
        Ok(Self { graph, batch, to, probe })
    }

    fn replay(&mut self, sentences: &Sentences, numbers: usize) -> Result<Vec<f32>, Failure> {
        self.graph.write(&self.batch.words, sentences.words())?;
        self.graph.write(&self.batch.lengths, sentences.lengths())?;
        self.graph.replay()?;
        let mut answer = vec![0.0; numbers];
        self.graph.read(&self.to, &mut answer)?;
        Ok(answer)
    }
}

impl Parts<'_> {
    /// The body of the captures: [`encode()`], unchanged, in a scope of the capture.
    fn body(
        &self,
        capture: &Capture<'_>,
        batch: &Batch<GraphMemoryBlock>,
        to: &GraphMemoryBlock,
    ) -> Result<(), Failure> {
        let main = capture.main();
        let mut weights = capture.block::<f32>(self.weights)?;
        let weights = capture.lend(main, &mut weights)?;
        let weights = weights.view()?;
        let model = self.model.try_map(|range| weights.into_part(range.clone()))?;
        let [mut words, mut positions] =
            [capture.block(&batch.words)?, capture.block(&batch.positions)?];
        let [mut kinds, mut lengths] =
            [capture.block(&batch.kinds)?, capture.block(&batch.lengths)?];
        let mut to = capture.block::<f32>(to)?;
        let [words, positions] =
            [capture.lend(main, &mut words)?, capture.lend(main, &mut positions)?];
        let [kinds, lengths] = [capture.lend(main, &mut kinds)?, capture.lend(main, &mut lengths)?];
        let mut to = capture.lend(main, &mut to)?;
        let batch = Batch {
            count: batch.count,
            tokens: batch.tokens,
            words: words.view()?,
            positions: positions.view()?,
            kinds: kinds.view()?,
            lengths: lengths.view()?,
        };
        let mut to = to.view_mut()?;
        capture.scope(main, |scope| {
            encode(self.kernels, HeadsAtOnce::All, scope.scope(), &model, &batch, &mut to)
        })
    }
}

/// Bytes of each number, `f32` or `u32`.
const NUMBER: usize = 4;
/// The alignment in bytes of the pool's blocks and of packed tensors.
const ALIGNMENT: usize = 256;

fn allocate(pool: &CUDAGraphMemoryPool, length: usize) -> Result<GraphMemoryBlock, Failure> {
    Ok(pool.allocate((length * NUMBER) as u64)?)
}

/// Returns all tensors of a model in one array, and the position of each in it.
fn packed(
    kernels: &OnCuda,
    configuration: Configuration,
    tensors: &impl Tensors,
) -> Result<(Model<Range<usize>>, Vec<f32>), Failure> {
    let mut numbers = Vec::new();
    let model = Model::<Tensor>::of(configuration).try_map(|tensor| -> Result<_, Failure> {
        let start = numbers.len();
        numbers.extend_from_slice(&tensor.numbers::<Cuda>(tensors, kernels)?);
        let end = numbers.len();
        numbers.resize(end.next_multiple_of(ALIGNMENT / NUMBER), 0.0);
        Ok(start..end)
    })?;
    Ok((model, numbers))
}
