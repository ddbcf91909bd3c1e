//! Encodes sentences, and prints the similarity of each pair.
//!
//! `cargo xtask encode "a sentence" "another"`: with the weights of all-MiniLM-L6-v2, on the host or on a device.

use std::path::PathBuf;

use clap::{Parser, ValueEnum};
use pool_encoder::{
    Algebra, Batch, Directory, Failure, HeadsAtOnce, Host, Model, Sentences, encode,
};
use pool_facade::{Cpu, DynamicPool, Pool, PoolBackend, PoolView};

#[derive(Parser)]
struct Arguments {
    /// The sentences.
    #[arg(required = true)]
    sentences: Vec<String>,
    /// The model's directory, with `config.json`, `tokenizer.json` and `model.safetensors`.
    #[arg(long, value_name = "DIRECTORY", env = "POOL_ENCODER_MODEL")]
    model: PathBuf,
    /// The place of the computation.
    #[arg(long, value_enum, default_value_t = Place::Host)]
    on: Place,
    /// The maximum tokens of a sentence; later ones are cut off.
    #[arg(long, default_value_t = 256)]
    tokens: usize,
    /// Print the numbers instead of the similarities.
    #[arg(long)]
    numbers: bool,
}

#[derive(Clone, Copy, ValueEnum)]
enum Place {
    /// On the host.
    Host,
    /// On the first CUDA device.
    #[cfg(feature = "cuda")]
    Device,
    /// On the adapter that wgpu finds.
    #[cfg(feature = "wgpu")]
    Wgpu,
}

fn main() -> Result<(), Failure> {
    let arguments = Arguments::parse();
    let directory = Directory::open(&arguments.model, arguments.tokens)?;
    let configuration = directory.configuration();
    let words = arguments.sentences.iter().map(|text| directory.words(text));
    let words = words.collect::<Result<Vec<_>, _>>()?;
    let longest = words.iter().map(Vec::len).max().unwrap_or(1);
    let sentences = Sentences::new(&configuration, longest, &words)?;
    let numbers = match arguments.on {
        Place::Host => {
            encoded::<Cpu, _>(&Host, || Ok(()), HeadsAtOnce::One, &directory, &sentences)
        }
        #[cfg(feature = "cuda")]
        Place::Device => on_device(&directory, &sentences),
        #[cfg(feature = "wgpu")]
        Place::Wgpu => {
            let stream = pool_wgpu::Stream::open()?;
            let kernels = pool_encoder::OnWgpu::new(&stream)?;
            let context = || Ok(stream.clone());
            encoded::<pool_wgpu::Wgpu, _>(
                &kernels,
                context,
                HeadsAtOnce::All,
                &directory,
                &sentences,
            )
        }
    }?;
    let rows: Vec<&[f32]> = numbers.chunks_exact(configuration.hidden).collect();
    if arguments.numbers {
        rows.iter().for_each(|row| println!("{}", joined(row.iter(), 7)));
        return Ok(());
    }
    for (row, text) in rows.iter().zip(&arguments.sentences) {
        let near = rows.iter().map(|other| row.iter().zip(*other).map(|(a, b)| a * b).sum::<f32>());
        println!("{}  {text}", joined(near, 3));
    }
    Ok(())
}

#[cfg(feature = "cuda")]
fn on_device(directory: &Directory, sentences: &Sentences) -> Result<Vec<f32>, Failure> {
    use pool_facade::Cuda;

    let device = Cuda::device(0)?;
    let kernels = pool_encoder::OnCuda::new(&device)?;
    let stream = device.context().new_stream()?;
    let context = || Ok(pool_facade::pool_cuda::DeviceStream::from_stream(stream.clone())?);
    encoded::<Cuda, _>(&kernels, context, HeadsAtOnce::All, directory, sentences)
}

/// Encodes the sentences in pools of these contexts, which share a queue.
fn encoded<B: PoolBackend, A: Algebra<B>>(
    algebra: &A,
    context: impl Fn() -> Result<B::Context, Failure>,
    at_once: HeadsAtOnce,
    directory: &Directory,
    sentences: &Sentences,
) -> Result<Vec<f32>, Failure> {
    let configuration = directory.configuration();
    let mut constants = DynamicPool::<B>::new(context()?);
    let model = Model::upload(algebra, configuration, directory, &mut constants)?;
    let batch = Batch::upload(sentences, &mut constants)?;
    let (constants, scope) = constants.split();
    let (model, batch) = (model.views(&constants)?, batch.views(&constants)?);
    let mut to = scope.try_acquire::<f32, _>(sentences.count() * configuration.hidden)?;
    let mut pool = Pool::<B>::new(context()?);
    encode(algebra, at_once, pool.scope(), &model, &batch, &mut to)?;
    Ok(to.copy_to_vec()?)
}

fn joined<N: std::fmt::Display>(numbers: impl Iterator<Item = N>, digits: usize) -> String {
    let texts: Vec<String> = numbers.map(|number| format!("{number:.digits$}")).collect();
    texts.join(" ")
}
