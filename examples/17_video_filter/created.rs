//! Frames with wgpu alone: each frame creates its own buffers and bind groups.

use std::error::Error;
use std::sync::mpsc;

use bytemuck::cast_slice;
use pool_wgpu::wgpu;

use crate::clock::processor_time;
use crate::filter::{Filter, FilterMethod, Filtered};
use crate::frame_objects::{FrameObjects, create_buffer};

/// The filter, which creates buffers and bind groups for each frame.
pub(crate) struct Created(FrameObjects);

impl Created {
    /// Creates the filter on a device.
    pub(crate) fn new(filter: &Filter, device: &wgpu::Device, queue: &wgpu::Queue) -> Self {
        Self(FrameObjects::new(filter, device, queue))
    }

    /// Waits for all submitted work, and returns the contents of a buffer.
    fn read(&self, buffer: &wgpu::Buffer) -> Result<Vec<u32>, Box<dyn Error>> {
        let (device, bytes) = (self.0.device(), self.0.filter().pixels() * size_of::<u32>());
        let usage = wgpu::BufferUsages::MAP_READ | wgpu::BufferUsages::COPY_DST;
        let staging = create_buffer(device, bytes, usage);
        let mut encoder = device.create_command_encoder(&Default::default());
        encoder.copy_buffer_to_buffer(buffer, 0, &staging, 0, staging.size());
        self.0.queue().submit([encoder.finish()]);
        let (sender, receiver) = mpsc::channel();
        staging.map_async(wgpu::MapMode::Read, .., move |answer| {
            // The receiver no longer exists if the poll has failed.
            let _ = sender.send(answer);
        });
        device.poll(wgpu::PollType::wait_indefinitely())?;
        receiver.recv()??;
        let bytes = staging.get_mapped_range(..)?;
        Ok(cast_slice(&bytes).to_vec())
    }
}

impl FilterMethod for Created {
    fn name(&self) -> &'static str {
        "created each frame"
    }

    fn filter(&mut self, frame: &[u8], wants_picture: bool) -> Result<Filtered, Box<dyn Error>> {
        let start = processor_time();
        let (encoder, picture) = self.0.record(frame);
        self.0.queue().submit([encoder.finish()]);
        let host_time = processor_time() - start;
        let picture = wants_picture.then(|| self.read(&picture)).transpose()?;
        Ok(Filtered { host_time, picture })
    }

    fn created(&self) -> [u64; 2] {
        self.0.created()
    }
}
