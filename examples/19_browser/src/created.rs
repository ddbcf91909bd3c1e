//! Frames of the film with wgpu alone: each frame creates its own buffers and bind groups.

use bytemuck::cast_slice;
use js_sys::{Function, Promise};
use pool_wgpu::wgpu;
use wasm_bindgen::JsValue;

use crate::device::{Device, pixels};
use crate::filter::Filter;
use crate::frame_objects::FrameObjects;

/// The filter of example 17, which creates buffers and bind groups for each frame.
#[derive(Debug)]
pub(crate) struct Created(FrameObjects);

impl Created {
    pub(crate) fn new(device: &Device, filter: &Filter) -> Self {
        let stream = device.stream();
        Self(FrameObjects::new(filter, stream.device(), stream.queue()))
    }

    /// Records and submits the work on a frame. Returns a promise of the picture's bytes.
    pub(crate) fn frame(&mut self, greys: &[u8]) -> Promise {
        let (mut encoder, picture) = self.0.record(greys);
        let usage = wgpu::BufferUsages::MAP_READ | wgpu::BufferUsages::COPY_DST;
        let staging = self.0.buffer(self.0.filter().pixels() * size_of::<u32>(), usage);
        encoder.copy_buffer_to_buffer(&picture, 0, &staging, 0, staging.size());
        self.0.queue().submit([encoder.finish()]);
        Promise::new(&mut |resolve, reject| read(&staging, resolve, reject))
    }

    /// Returns the numbers of buffers and bind groups created so far.
    pub(crate) fn created(&self) -> [u64; 2] {
        self.0.created()
    }

    /// Returns the bytes that one frame creates.
    pub(crate) fn bytes(&self) -> usize {
        self.0.filter().pixels() * (1 + 7 * size_of::<f32>())
    }
}

/// Maps a buffer, and calls back with its contents.
fn read(staging: &wgpu::Buffer, resolve: Function, reject: Function) {
    let mapped = staging.clone();
    staging.map_async(wgpu::MapMode::Read, .., move |answer| {
        let range = answer.map_err(|error| error.to_string());
        let range =
            range.and_then(|()| mapped.get_mapped_range(..).map_err(|error| error.to_string()));
        // If the page does not listen for the result, nothing remains to be done.
        let _ = match range {
            Ok(bytes) => resolve.call1(&JsValue::NULL, &pixels(cast_slice(&bytes))),
            Err(message) => reject.call1(&JsValue::NULL, &message.into()),
        };
    });
}
