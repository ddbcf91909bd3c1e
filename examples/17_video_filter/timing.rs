//! The times of both methods, measured alternately.

use std::error::Error;
use std::fmt;
use std::time::{Duration, Instant};

use pool_wgpu::wgpu;

use crate::filter::FilterMethod;

/// When frames per second are measured, one in this many frames is read back.
pub(crate) const READ_EACH: usize = 8;

/// The median of repeated measurements, with the minimum and the maximum.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Spread {
    least: f64,
    pub(crate) median: f64,
    greatest: f64,
}

impl Spread {
    /// Computes the spread, or returns `None` if there are no measurements.
    pub(crate) fn of(mut measured: Vec<f64>) -> Option<Self> {
        measured.sort_by(f64::total_cmp);
        let (least, greatest) = (*measured.first()?, *measured.last()?);
        Some(Self { least, median: measured[measured.len() / 2], greatest })
    }
}

impl fmt::Display for Spread {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = format!("{:.2} ({:.2} to {:.2})", self.median, self.least, self.greatest);
        f.pad(&text)
    }
}

/// The measurements of one method, with one value per repeat.
#[derive(Debug, Default)]
pub(crate) struct Measured {
    /// The median host time of a frame, in microseconds.
    pub(crate) host_times: Vec<f64>,
    pub(crate) frames_a_second: Vec<f64>,
}

/// Measures one repeat over all frames. When the host's time is measured, the methods alternate,
/// and each frame starts with the other method.
pub(crate) fn repeat(
    measured: &mut [Measured; 2],
    mut methods: [&mut dyn FilterMethod; 2],
    device: &wgpu::Device,
    frames: &[Vec<u8>],
) -> Result<(), Box<dyn Error>> {
    let mut host_times = [(); 2].map(|()| Vec::with_capacity(frames.len()));
    for (number, frame) in frames.iter().enumerate() {
        for turn in 0..2 {
            let which = (number + turn) % 2;
            // After this call, the driver's threads are idle, even if the driver runs on the CPU.
            device.poll(wgpu::PollType::wait_indefinitely())?;
            host_times[which].push(micros(methods[which].filter(frame, false)?.host_time));
        }
    }
    for ((measured, method), host_times) in measured.iter_mut().zip(&mut methods).zip(host_times) {
        measured.host_times.extend(Spread::of(host_times).map(|spread| spread.median));
        measured.frames_a_second.push(frames_a_second(&mut **method, device, frames)?);
    }
    Ok(())
}

fn frames_a_second(
    method: &mut dyn FilterMethod,
    device: &wgpu::Device,
    frames: &[Vec<u8>],
) -> Result<f64, Box<dyn Error>> {
    device.poll(wgpu::PollType::wait_indefinitely())?;
    let start = Instant::now();
    for (number, frame) in frames.iter().enumerate() {
        method.filter(frame, number % READ_EACH == 0)?;
    }
    device.poll(wgpu::PollType::wait_indefinitely())?;
    Ok(frames.len() as f64 / start.elapsed().as_secs_f64())
}

fn micros(time: Duration) -> f64 {
    time.as_secs_f64() * 1e6
}
