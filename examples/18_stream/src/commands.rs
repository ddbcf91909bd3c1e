//! The commands of the programs.

use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Parser, Subcommand, ValueEnum};
use pool_facade::prelude::*;

use crate::Failure;
use crate::film::Film;
use crate::lane::{Lane, Way};
use crate::picture;
use crate::serve::Service;
use crate::size::Size;

/// A stream of frames whose temporaries come from a pool, or from elsewhere. `cargo xtask demo` compares them.
#[derive(Debug, Parser)]
struct Arguments {
    #[command(subcommand)]
    task: Task,
}

#[derive(Debug, Subcommand)]
enum Task {
    /// Process some frames in every way, compare the pictures, and print the cost of each.
    Show {
        /// The size of a frame.
        #[arg(long, default_value = "640x480")]
        size: Size,
        /// The number of frames.
        #[arg(long, default_value_t = 24)]
        frames: usize,
        /// The file for the last picture.
        #[arg(long, default_value = "target/demo/stream.png")]
        picture: PathBuf,
    },
    /// Makes the frames of a film.
    Film {
        /// The size of a frame.
        #[arg(long)]
        size: Size,
        /// The number of frames.
        #[arg(long)]
        frames: usize,
        /// The file.
        film: PathBuf,
    },
    /// Print the adapter of the way with wgpu, or fail if there is none.
    #[cfg(feature = "wgpu")]
    Adapter,
    /// Read numbers from the standard input, and report on that number of frames each, a line a
    /// frame.
    Serve {
        /// The source of temporaries.
        #[arg(long)]
        way: Way,
        /// The number of cameras, each with a thread; a single one uses the main thread.
        #[arg(long, default_value_t = 1)]
        workers: usize,
        /// Another thread keeps the allocator busy.
        #[arg(long)]
        churn: bool,
        /// The pool of the main thread counts its peak of live bytes, at a cold call for each
        /// temporary.
        #[arg(long)]
        live: bool,
        /// The file for the last picture, if it is written.
        #[arg(long)]
        picture: Option<PathBuf>,
        /// The film.
        film: PathBuf,
    },
}

/// The whole program; its binaries differ in their global allocator alone.
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
            println!("{}", crate::ways::on_wgpu::adapter()?);
            Ok(())
        }
        Task::Serve { way, workers, churn, live, picture, film } => {
            let config = PoolConfig::new().measure_live_bytes(live);
            local::<Cpu>().configure(config)?;
            local::<Stacked<Cpu>>().configure(config)?;
            let mut service = Service::new(Film::read(&film)?, way, workers, churn)?;
            service.run(io::stdin().lock(), io::stdout().lock())?;
            match (picture, service.lane()) {
                (Some(path), Some(lane)) => write(&path, lane),
                _ => Ok(()),
            }
        }
    }
}

fn show(film: &Film, frames: usize, picture: &Path) -> Result<(), Failure> {
    let ways = Way::value_variants();
    let mut lanes: Vec<Lane> = ways.iter().map(|way| Lane::new(*way, film.size())).collect();
    for number in 0..frames {
        let mut expected = None;
        for (lane, way) in lanes.iter_mut().zip(ways) {
            let record = lane.measured(film.frame(number))?;
            if *expected.get_or_insert(record.checksum) != record.checksum {
                return Err(format!("frame {number} is another picture with {way:?}").into());
            }
            let held = lane.reserved().map(|bytes| format!(", {:8.3} MB held", bytes as f64 / 1e6));
            println!(
                "frame {number:3} {:10} {:8.3} ms, {:3} allocations{}",
                format!("{way:?}"),
                record.processor as f64 / 1e6,
                record.allocations,
                held.unwrap_or_default(),
            );
        }
    }
    println!("\nevery way made the same pictures; the last one is in {}\n", picture.display());
    println!("{}", local::<Cpu>().stats());
    lanes.first().map_or(Ok(()), |lane| write(picture, lane))
}

fn write(path: &Path, lane: &Lane) -> Result<(), Failure> {
    picture::write(path, lane.camera().size(), lane.camera().picture())
}
