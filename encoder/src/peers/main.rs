//! The encoder on request, for measurements that alternate with other programs: `cargo xtask encode --peers` starts it.
//!
//! `words` prints a text as the model's words. `serve` reads the number of forwards, a number a
//! line, and writes [a line for each](forward::Forward). At the end, it writes the last output into
//! a file.

#[path = "../../../benches/src/harness/clock.rs"]
#[allow(unreachable_pub, reason = "a library exports it")]
mod clock;
#[allow(unreachable_pub, reason = "another program includes it")]
mod forward;
#[path = "../../../examples/18_stream/src/heap.rs"]
#[allow(unreachable_pub, reason = "a library exports it")]
mod heap;

use std::alloc::System;
use std::fs;
use std::io::{BufRead, Write};
use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};
use forward::Forward;
use pool_conformance::Toy;
use pool_encoder::{Batch, Directory, Failure, HeadsAtOnce, Host, Model, Sentences, encode};
use pool_facade::{Cpu, DynamicPool, Pool, PoolBackend, PoolConfig};

#[global_allocator]
static HEAP: heap::Counting<System> = heap::Counting(System);

#[derive(Parser)]
struct Arguments {
    /// The model's directory, with `config.json`, `tokenizer.json` and `model.safetensors`.
    #[arg(long, value_name = "DIRECTORY")]
    model: PathBuf,
    #[command(subcommand)]
    task: Task,
}

#[derive(Subcommand)]
enum Task {
    /// Print the words of a text, with the start and end tokens, as numbers.
    Words {
        /// The text.
        file: PathBuf,
    },
    /// Encode sentences as often as requested on the standard input.
    Serve(Service),
}

#[derive(Args)]
struct Service {
    /// The source of temporaries.
    #[arg(long, value_enum)]
    way: Way,
    /// The sentences: a line each, words as numbers.
    #[arg(long, value_name = "FILE")]
    sentences: PathBuf,
    /// The file for the last output: `f32`, little-endian.
    #[arg(long, value_name = "FILE")]
    numbers: PathBuf,
}

/// The source of temporaries. The weights are the same in all ways.
#[derive(Clone, Copy, ValueEnum)]
enum Way {
    /// A pool of host memory.
    Pool,
    /// A pool whose blocks come from the heap, as those of a `Vec` do.
    Kept,
    /// Such blocks, a new one for each acquire; none is kept for the next forward.
    Fresh,
}

fn main() -> Result<(), Failure> {
    let Arguments { model, task } = Arguments::parse();
    // Sentences are cut where they are made.
    let directory = Directory::open(&model, usize::MAX)?;
    match task {
        Task::Words { file } => {
            let words = directory.words(&fs::read_to_string(file)?)?;
            words.iter().for_each(|word| println!("{word}"));
            Ok(())
        }
        Task::Serve(service) => service.run(&directory),
    }
}

impl Service {
    fn run(&self, directory: &Directory) -> Result<(), Failure> {
        let sentences = self.sentences(directory)?;
        let configuration = directory.configuration();
        let mut constants = DynamicPool::<Cpu>::new(());
        let model = Model::upload(&Host, configuration, directory, &mut constants)?;
        let batch = Batch::upload(&sentences, &mut constants)?;
        let (constants, _) = constants.split();
        let (model, batch) = (model.views(&constants)?, batch.views(&constants)?);
        let mut numbers = vec![0.0; sentences.count() * configuration.hidden];
        let work = Work { model: &model, batch: &batch, numbers: &mut numbers };
        match self.way {
            Way::Pool => work.serve(Pool::<Cpu>::new(()), true),
            Way::Kept => work.serve(Pool::<Toy>::new(()), true),
            Way::Fresh => {
                work.serve(Pool::<Toy>::with_config((), PoolConfig::default().fresh(true))?, false)
            }
        }?;
        let bytes: Vec<u8> = numbers.iter().flat_map(|number| number.to_le_bytes()).collect();
        Ok(fs::write(&self.numbers, bytes)?)
    }

    /// The sentences of the file, all filled up to the longest.
    fn sentences(&self, directory: &Directory) -> Result<Sentences, Failure> {
        let text = fs::read_to_string(&self.sentences)?;
        let words = |line: &str| line.split(' ').map(str::parse).collect::<Result<Vec<u32>, _>>();
        let sentences = text.lines().map(words).collect::<Result<Vec<_>, _>>()?;
        let longest = sentences.iter().map(Vec::len).max().unwrap_or(1);
        Sentences::new(&directory.configuration(), longest, &sentences)
    }
}

/// The sentences, and the target.
struct Work<'w, 'm> {
    model: &'w Model<&'m [f32]>,
    batch: &'w Batch<&'m [u32]>,
    numbers: &'w mut [f32],
}

impl Work<'_, '_> {
    /// Serves requests until there are no more, with temporaries of this pool.
    fn serve<B>(mut self, mut pool: Pool<B>, keeps_memory: bool) -> Result<(), Failure>
    where
        B: for<'s> PoolBackend<View<'s, f32> = &'s mut [f32], ViewRef<'s, f32> = &'s [f32]>,
        B: for<'s> PoolBackend<ViewRef<'s, u32> = &'s [u32]>,
    {
        let mut answers = std::io::stdout();
        for request in std::io::stdin().lock().lines() {
            let count = request?.trim().parse()?;
            let mut forwards = Vec::with_capacity(count);
            for _ in 0..count {
                forwards.push(self.forward(&mut pool, keeps_memory)?);
            }
            for forward in forwards {
                writeln!(answers, "{forward}")?;
            }
            answers.flush()?;
        }
        Ok(())
    }

    /// Measures one forward. There is one thread, so its processor time is the process's.
    fn forward<B>(&mut self, pool: &mut Pool<B>, keeps_memory: bool) -> Result<Forward, Failure>
    where
        B: for<'s> PoolBackend<View<'s, f32> = &'s mut [f32], ViewRef<'s, f32> = &'s [f32]>,
        B: for<'s> PoolBackend<ViewRef<'s, u32> = &'s [u32]>,
    {
        let (faults, requests) = (clock::minor_faults(), heap::requests());
        let start = clock::thread_time();
        encode(
            &Host,
            HeadsAtOnce::One,
            pool.scope(),
            self.model,
            self.batch,
            &mut &mut *self.numbers,
        )?;
        if !keeps_memory {
            pool.clear();
        }
        let processor = clock::thread_time() - start;
        Ok(Forward {
            processor,
            faults: clock::minor_faults().zip(faults).map(|(after, before)| after - before),
            allocations: Some(heap::requests() - requests),
        })
    }
}
