//! The device's own clock: the time from before the first command of some work to after the last
//! one, if the adapter has timing queries.

use pool_facade::pool_wgpu::{Stream, StreamConfig, WgpuError, wgpu};

/// The feature that the device must have.
const FEATURE: wgpu::Features = wgpu::Features::TIMESTAMP_QUERY;
/// Bytes of the two times.
const BYTES: u64 = 16;

/// Opens a stream of the first adapter, with timing queries if it has them.
pub(crate) fn open() -> Result<Stream, WgpuError> {
    match Stream::open_with_config(&StreamConfig::new().with_features(FEATURE)) {
        Err(WgpuError::NoDevice { .. }) => Stream::open(),
        stream => stream,
    }
}

/// Two times of a device.
pub(crate) struct DeviceClock<'a> {
    stream: &'a Stream,
    times: wgpu::QuerySet,
    resolved: wgpu::Buffer,
    read: wgpu::Buffer,
}

impl<'a> DeviceClock<'a> {
    /// Makes the clock; `None` if the device has no timing queries.
    pub(crate) fn new(stream: &'a Stream) -> Option<Self> {
        let device = stream.device();
        if !device.features().contains(FEATURE) {
            return None;
        }
        let times = device.create_query_set(&wgpu::QuerySetDescriptor {
            label: None,
            ty: wgpu::QueryType::Timestamp,
            count: 2,
        });
        let buffer = |usage| {
            device.create_buffer(&wgpu::BufferDescriptor {
                label: None,
                size: BYTES,
                usage,
                mapped_at_creation: false,
            })
        };
        let resolved = buffer(wgpu::BufferUsages::QUERY_RESOLVE | wgpu::BufferUsages::COPY_SRC);
        let read = buffer(wgpu::BufferUsages::MAP_READ | wgpu::BufferUsages::COPY_DST);
        Some(Self { stream, times, resolved, read })
    }

    /// Submits the device's time as the first (0) or the second (1): that of an empty pass.
    fn mark(&self, which: u32) {
        let mark = |encoder: &mut wgpu::CommandEncoder| {
            encoder.begin_compute_pass(&wgpu::ComputePassDescriptor {
                label: None,
                timestamp_writes: Some(wgpu::ComputePassTimestampWrites {
                    query_set: &self.times,
                    beginning_of_pass_write_index: Some(which),
                    end_of_pass_write_index: None,
                }),
            });
        };
        self.stream.record(mark).unwrap();
        self.stream.submit().unwrap();
    }

    /// Runs work that is submitted to the device's queue; returns the device's seconds from its
    /// start to its end.
    pub(crate) fn around(&self, work: impl FnOnce()) -> f64 {
        self.mark(0);
        work();
        self.mark(1);
        let resolve = |encoder: &mut wgpu::CommandEncoder| {
            encoder.resolve_query_set(&self.times, 0..2, &self.resolved, 0);
            encoder.copy_buffer_to_buffer(&self.resolved, 0, &self.read, 0, BYTES);
        };
        self.stream.record(resolve).unwrap();
        self.stream.submit().unwrap();
        self.read.map_async(wgpu::MapMode::Read, .., |answer| answer.unwrap());
        super::wait(self.stream);
        let ticks = self.read_ticks();
        self.read.unmap();
        (ticks[1] - ticks[0]) as f64 * f64::from(self.stream.queue().get_timestamp_period()) / 1e9
    }

    fn read_ticks(&self) -> [u64; 2] {
        let mapped = self.read.get_mapped_range(..).unwrap();
        let word = |at: usize| u64::from_ne_bytes(mapped[at..at + 8].try_into().unwrap());
        [word(0), word(8)]
    }
}
