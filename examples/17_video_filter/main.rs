//! A filter that runs on the frames of a video, on a GPU or on another wgpu adapter: it applies an
//! unsharp mask and draws edges in orange. One version uses a pool's scope for each frame, and the
//! other creates buffers and bind groups for each frame. Both produce bitwise equal pictures. The
//! example prints the host's time per frame.
//!
//! ```text
//! cargo run --release --features wgpu --example 17_video_filter -- [--frames N] [--size N] [--out FILE]
//! ```
//!
//! If wgpu finds no adapter, the example prints `SKIPPED` and the reason.

mod clock;
mod created;
mod filter;
mod frame_objects;
mod frames;
mod pooled;
mod timing;

use std::error::Error;
use std::path::{Path, PathBuf};

use clap::Parser;
use pool_core::Pool;
use pool_wgpu::{Stream, Wgpu, WgpuError, wgpu};

use created::Created;
use filter::{Filter, FilterMethod};
use frames::Photograph;
use pooled::Pooled;
use timing::{Measured, READ_EACH, Spread, repeat};

#[derive(Parser)]
struct Arguments {
    /// The number of frames in the video.
    #[arg(long, default_value_t = 12, value_parser = clap::value_parser!(u32).range(1..))]
    frames: u32,
    /// The number of pixels along each side of a frame: a multiple of 4.
    #[arg(long, default_value_t = 128, value_parser = size)]
    size: u32,
    /// The number of measurements of both methods.
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..))]
    repeats: u32,
    /// The file for the picture, which shows the last frame before and after filtering. The default
    /// is `target/demo/video_filter.png`.
    #[arg(long)]
    out: Option<PathBuf>,
}

/// The host packs four pixels into a word. A plane of 4096 × 4096 `f32` takes 64 MiB, which every
/// device can bind.
fn size(text: &str) -> Result<u32, String> {
    let size: u32 = text.parse().map_err(|error| format!("{error}"))?;
    match size {
        4..=4096 if size % 4 == 0 => Ok(size),
        _ => Err("a multiple of 4 from 4 to 4096".to_owned()),
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let arguments = Arguments::parse();
    let stream = match Stream::open() {
        Err(why @ WgpuError::NoAdapter { .. }) => {
            println!("SKIPPED: {why}");
            return Ok(());
        }
        stream => stream?,
    };
    describe(&stream, &arguments);
    let frames = Photograph::load()?.video(arguments.frames, arguments.size);
    let filter = Filter::new(arguments.size);
    let mut constants = Pool::<Wgpu>::new(stream.clone());
    let mut pooled = Pooled::new(&filter, &stream, &mut constants)?;
    let mut created = Created::new(&filter, stream.device(), stream.queue());

    let last = compare(&mut pooled, &mut created, &frames)?;
    let warm = [pooled.created(), created.created()];
    let mut measured = [Measured::default(), Measured::default()];
    for _ in 0..arguments.repeats {
        repeat(&mut measured, [&mut pooled, &mut created], stream.device(), &frames)?;
    }
    report([&pooled, &created], warm, measured)?;
    if pooled.created() != warm[0] {
        return Err("the pool created buffers or bind groups in steady state".into());
    }
    let path = arguments.out.unwrap_or_else(|| {
        let package = Path::new(env!("CARGO_MANIFEST_DIR"));
        package.parent().unwrap_or(package).join("target/demo/video_filter.png")
    });
    let frame = frames.last().ok_or("no frames")?;
    frames::write(&path, arguments.size, frame, &last)?;
    println!("\nthe last frame before and after the filter is in {}", path.display());
    Ok(())
}

/// Prints the device that the example uses, and how meaningful its times are.
fn describe(stream: &Stream, arguments: &Arguments) {
    let adapter = stream.device().adapter_info();
    println!("adapter: {} ({:?}, {})", adapter.name, adapter.device_type, adapter.backend);
    let Arguments { frames, size, repeats, .. } = arguments;
    println!("{frames} frames of {size} × {size} pixels, {repeats} repeats");
    if adapter.device_type == wgpu::DeviceType::Cpu {
        println!("the adapter is the processor: its frames per second say nothing about a GPU");
    }
    if cfg!(debug_assertions) {
        println!("this build of wgpu is not optimised: use --release for meaningful host times");
    }
}

/// Filters all frames with both methods, which also warms them up. Returns the last picture.
fn compare(
    pooled: &mut dyn FilterMethod,
    created: &mut dyn FilterMethod,
    frames: &[Vec<u8>],
) -> Result<Vec<u32>, Box<dyn Error>> {
    let mut last = Vec::new();
    for (number, frame) in frames.iter().enumerate() {
        let picture = pooled.filter(frame, true)?.picture;
        if picture != created.filter(frame, true)?.picture {
            return Err(format!("frame {number} differs between the two methods").into());
        }
        last = picture.ok_or("no picture")?;
    }
    println!("all {} pictures are bit-identical with both methods\n", frames.len());
    Ok(last)
}

/// Prints the measurements, and the objects created since the warm-up.
fn report(
    methods: [&dyn FilterMethod; 2],
    warm: [[u64; 2]; 2],
    measured: [Measured; 2],
) -> Result<(), Box<dyn Error>> {
    println!(
        "{:24}{:>28}{:>28}{:>24}",
        "", "host time per frame, µs", "frames per second", "created since warm-up"
    );
    let ratios = measured[1].host_times.iter().zip(&measured[0].host_times);
    let ratios: Vec<_> = ratios.map(|(created, pooled)| created / pooled).collect();
    let ratio = Spread::of(ratios).ok_or("nothing was measured")?;
    for ((method, warm), measured) in methods.iter().zip(warm).zip(measured) {
        let host_time = Spread::of(measured.host_times).ok_or("nothing was measured")?;
        let rate = Spread::of(measured.frames_a_second).ok_or("nothing was measured")?;
        let [buffers, groups] = method.created();
        let created = format!("{} buffers, {} bind groups", buffers - warm[0], groups - warm[1]);
        println!("{:24}{host_time:>28}{rate:>28}  {created}", method.name());
    }
    println!(
        "{:24}{ratio:>28}  times the host time, in each repeat\n\n\
         The numbers are medians of the repeats, with the minimum and the maximum in parentheses. The host time\n\
         is the thread's time from a frame's bytes to the submission of its work. For it, the device is idle, and\n\
         the methods run in turns. For frames per second, one frame in {READ_EACH} is read back.",
        "created over pool"
    );
    Ok(())
}
