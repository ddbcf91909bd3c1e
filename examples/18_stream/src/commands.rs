//! The commands of the binaries.

use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Parser, Subcommand, ValueEnum};
use pool_facade::prelude::*;

use crate::Failure;
use crate::film::Film;
use crate::lane::{Lane, TemporarySource};
use crate::picture;
use crate::serve::Service;
use crate::size::Size;

/// A stream of frames whose temporaries come from a pool or from another source. `cargo xtask demo`
/// compares the sources.
#[derive(Debug, Parser)]
struct Arguments {
    #[command(subcommand)]
    task: Task,
}

#[derive(Debug, Subcommand)]
enum Task {
    /// Process some frames with every source of temporaries, compare the pictures, and print the
    /// cost of each source.
    Show {
        /// The size of a frame.
        #[arg(long, default_value = "640x480")]
        size: Size,
        /// The number of frames.
        #[arg(long, default_value_t = 24)]
        frames: usize,
        /// The file to which the last picture is written.
        #[arg(long, default_value = "target/demo/stream.png")]
        picture: PathBuf,
    },
    /// Create the frames of a film.
    Film {
        /// The size of a frame.
        #[arg(long)]
        size: Size,
        /// The number of frames.
        #[arg(long)]
        frames: usize,
        /// The file to which the film is written.
        film: PathBuf,
    },
    /// Print the wgpu adapter, or fail if there is none.
    #[cfg(feature = "wgpu")]
    Adapter,
    /// Read numbers from the standard input. For each number, process that many frames and print
    /// one line per frame.
    Serve {
        /// The source of temporaries.
        #[arg(long)]
        source: TemporarySource,
        /// The number of cameras, each with its own thread. A single camera uses the main thread.
        #[arg(long, default_value_t = 1)]
        workers: usize,
        /// Run a second thread that keeps the allocator busy.
        #[arg(long)]
        churn: bool,
        /// Count the peak of live bytes in the main thread's pool. This makes every acquire cold.
        #[arg(long)]
        live: bool,
        /// The file to which the last picture is written, if any.
        #[arg(long)]
        picture: Option<PathBuf>,
        /// The file that contains the film.
        film: PathBuf,
    },
}

/// Runs the whole program. The binaries differ only in their global allocator.
#[must_use]
pub fn main() -> ExitCode {
    match run(Arguments::parse().task) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

fn run(task: Task) -> Result<(), Failure> {
    match task {
        Task::Show { size, frames, picture } => show(&Film::make(size, frames)?, frames, &picture),
        Task::Film { size, frames, film } => Film::make(size, frames)?.write(&film),
        #[cfg(feature = "wgpu")]
        Task::Adapter => {
            println!("{}", crate::sources::on_wgpu::adapter()?);
            Ok(())
        }
        Task::Serve { source, workers, churn, live, picture, film } => {
            let config = PoolConfig::new().measure_live_bytes(live);
            local::<Cpu>().configure(config)?;
            local::<Stacked<Cpu>>().configure(config)?;
            let mut service = Service::new(Film::read(&film)?, source, workers, churn)?;
            service.run(io::stdin().lock(), io::stdout().lock())?;
            match (picture, service.lane()) {
                (Some(path), Some(lane)) => write(&path, lane),
                _ => Ok(()),
            }
        }
    }
}

fn show(film: &Film, frames: usize, picture: &Path) -> Result<(), Failure> {
    let sources = TemporarySource::value_variants();
    let mut lanes: Vec<Lane> =
        sources.iter().map(|source| Lane::new(*source, film.size())).collect();
    for number in 0..frames {
        let mut expected = None;
        for (lane, source) in lanes.iter_mut().zip(sources) {
            let record = lane.measured(film.frame(number))?;
            if *expected.get_or_insert(record.checksum) != record.checksum {
                return Err(
                    format!("frame {number} has a different picture with {source:?}").into()
                );
            }
            let held = lane.reserved().map(|bytes| format!(", {:8.3} MB held", bytes as f64 / 1e6));
            println!(
                "frame {number:3} {:10} {:8.3} ms, {:3} allocations{}",
                format!("{source:?}"),
                record.processor as f64 / 1e6,
                record.allocations,
                held.unwrap_or_default(),
            );
        }
    }
    println!(
        "\nall sources produced the same pictures; the last one is in {}\n",
        picture.display()
    );
    println!("{}", local::<Cpu>().stats());
    lanes.first().map_or(Ok(()), |lane| write(picture, lane))
}

fn write(path: &Path, lane: &Lane) -> Result<(), Failure> {
    picture::write(path, lane.camera().size(), lane.camera().picture())
}
