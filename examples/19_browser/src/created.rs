//! Frames of the film with wgpu alone: each frame creates its own buffers and bind groups.

use bytemuck::{bytes_of, cast_slice};
use js_sys::{Function, Promise};
use pool_kernels::wgsl::WgslKernel;
use pool_wgpu::wgpu;
use wasm_bindgen::JsValue;

use crate::device::{Device, pixels};
use crate::filter::{Filter, KERNELS};

/// The filter of example 17, which creates buffers and bind groups for each frame.
#[derive(Debug)]
pub(crate) struct Created {
    filter: Filter,
    device: wgpu::Device,
    queue: wgpu::Queue,
    pipelines: Vec<wgpu::ComputePipeline>,
    /// The parameters, as group 1 of each pipeline.
    parameters: Vec<wgpu::BindGroup>,
    weights: wgpu::Buffer,
    buffers: u64,
    bind_groups: u64,
}

impl Created {
    pub(crate) fn new(device: &Device, filter: &Filter) -> Self {
        let (device, queue) = (device.stream().device().clone(), device.stream().queue().clone());
        let with_contents = |contents: &[u8], usage| {
            let buffer =
                create_buffer(&device, contents.len(), usage | wgpu::BufferUsages::COPY_DST);
            queue.write_buffer(&buffer, 0, contents);
            buffer
        };
        let own = with_contents(bytes_of(&filter.parameters), wgpu::BufferUsages::UNIFORM);
        // WebGPU writes whole words.
        let blur = with_contents(bytes_of(&filter.blur), wgpu::BufferUsages::UNIFORM);
        let weights = with_contents(cast_slice(&filter.weights), wgpu::BufferUsages::STORAGE);
        let pipelines: Vec<_> = KERNELS.iter().map(|kernel| compile(&device, kernel)).collect();
        let uniforms = [&own, &blur, &blur, &own, &own, &own];
        let parameters = pipelines.iter().zip(uniforms);
        let parameters =
            parameters.map(|(pipeline, of)| bind(&device, pipeline, 1, &[of])).collect();
        Self {
            filter: filter.clone(),
            device,
            queue,
            pipelines,
            parameters,
            weights,
            buffers: 0,
            bind_groups: 0,
        }
    }

    fn buffer(&mut self, bytes: usize, usage: wgpu::BufferUsages) -> wgpu::Buffer {
        self.buffers += 1;
        create_buffer(&self.device, bytes, usage)
    }

    /// Records and submits the work on a frame. Returns a promise of the picture's bytes.
    pub(crate) fn frame(&mut self, greys: &[u8]) -> Promise {
        let bytes = self.filter.pixels() * size_of::<f32>();
        let storage = wgpu::BufferUsages::STORAGE;
        let words = self.buffer(greys.len(), storage | wgpu::BufferUsages::COPY_DST);
        self.queue.write_buffer(&words, 0, greys);
        let planes = [(); 5].map(|()| self.buffer(bytes, storage));
        let [grey, half_blurred, blurred, sharp, edges] = &planes;
        let picture = self.buffer(bytes, storage | wgpu::BufferUsages::COPY_SRC);
        let usage = wgpu::BufferUsages::MAP_READ | wgpu::BufferUsages::COPY_DST;
        let staging = self.buffer(bytes, usage);

        let bindings: [&[&wgpu::Buffer]; KERNELS.len()] = [
            &[&words, grey],
            &[grey, &self.weights, half_blurred],
            &[half_blurred, &self.weights, blurred],
            &[grey, blurred, sharp],
            &[blurred, edges],
            &[sharp, edges, &picture],
        ];
        let mut encoder =
            self.device.create_command_encoder(&wgpu::CommandEncoderDescriptor::default());
        let mut pass = encoder.begin_compute_pass(&wgpu::ComputePassDescriptor::default());
        let parts = self.pipelines.iter().zip(&self.parameters).zip(bindings);
        for (((pipeline, parameters), buffers), groups) in parts.zip(self.filter.workgroups()) {
            let group = bind(&self.device, pipeline, 0, buffers);
            pass.set_pipeline(pipeline);
            pass.set_bind_group(0, &group, &[]);
            pass.set_bind_group(1, parameters, &[]);
            pass.dispatch_workgroups(groups[0], groups[1], groups[2]);
        }
        drop(pass);
        self.bind_groups += KERNELS.len() as u64;
        encoder.copy_buffer_to_buffer(&picture, 0, &staging, 0, staging.size());
        self.queue.submit([encoder.finish()]);
        Promise::new(&mut |resolve, reject| read(&staging, resolve, reject))
    }

    /// Returns the numbers of buffers and bind groups created so far.
    pub(crate) fn created(&self) -> [u64; 2] {
        [self.buffers, self.bind_groups]
    }

    /// Returns the bytes that one frame creates.
    pub(crate) fn bytes(&self) -> usize {
        self.filter.pixels() * (1 + 7 * size_of::<f32>())
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

fn create_buffer(device: &wgpu::Device, bytes: usize, usage: wgpu::BufferUsages) -> wgpu::Buffer {
    device.create_buffer(&wgpu::BufferDescriptor {
        label: None,
        size: bytes as u64,
        usage,
        mapped_at_creation: false,
    })
}

fn compile(device: &wgpu::Device, kernel: &WgslKernel) -> wgpu::ComputePipeline {
    let module = device.create_shader_module(wgpu::ShaderModuleDescriptor {
        label: Some(kernel.entry),
        source: wgpu::ShaderSource::Wgsl(kernel.source.into()),
    });
    device.create_compute_pipeline(&wgpu::ComputePipelineDescriptor {
        label: Some(kernel.entry),
        layout: None,
        module: &module,
        entry_point: Some(kernel.entry),
        compilation_options: wgpu::PipelineCompilationOptions::default(),
        cache: None,
    })
}

fn bind(
    device: &wgpu::Device,
    pipeline: &wgpu::ComputePipeline,
    group: u32,
    buffers: &[&wgpu::Buffer],
) -> wgpu::BindGroup {
    let entries: Vec<_> = (0..)
        .zip(buffers)
        .map(|(binding, buffer)| wgpu::BindGroupEntry {
            binding,
            resource: buffer.as_entire_binding(),
        })
        .collect();
    device.create_bind_group(&wgpu::BindGroupDescriptor {
        label: None,
        layout: &pipeline.get_bind_group_layout(group),
        entries: &entries,
    })
}
