//! The filter with wgpu alone: each frame creates its own buffers and bind groups. Pipelines, weights
//! and parameters are the same for all frames, and are created once. Example 19 uses this file, too.

use bytemuck::{bytes_of, cast_slice};
use pool_kernels::wgsl::WgslKernel;
use pool_wgpu::wgpu;

use crate::filter::{Filter, KERNELS};

/// The objects that all frames share, and counts of the objects created for frames.
#[derive(Debug)]
pub(crate) struct FrameObjects {
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

impl FrameObjects {
    /// Creates the filter on a device.
    pub(crate) fn new(filter: &Filter, device: &wgpu::Device, queue: &wgpu::Queue) -> Self {
        let with_contents = |contents: &[u8], usage| {
            let usage = usage | wgpu::BufferUsages::COPY_DST;
            let buffer = create_buffer(device, contents.len(), usage);
            queue.write_buffer(&buffer, 0, contents);
            buffer
        };
        let uniform = wgpu::BufferUsages::UNIFORM;
        let own = with_contents(bytes_of(&filter.parameters), uniform);
        let blur = with_contents(bytes_of(&filter.blur), uniform);
        let pipelines: Vec<_> = KERNELS.iter().map(|kernel| compile(device, kernel)).collect();
        let uniforms = [&own, &blur, &blur, &own, &own, &own];
        let parameters = pipelines.iter().zip(uniforms);
        Self {
            filter: filter.clone(),
            device: device.clone(),
            queue: queue.clone(),
            parameters: parameters.map(|(pipeline, of)| bind(device, pipeline, 1, &[of])).collect(),
            pipelines,
            weights: with_contents(cast_slice(&filter.weights), wgpu::BufferUsages::STORAGE),
            buffers: 0,
            bind_groups: 0,
        }
    }

    /// Returns the filter.
    pub(crate) fn filter(&self) -> &Filter {
        &self.filter
    }

    /// Returns the device.
    pub(crate) fn device(&self) -> &wgpu::Device {
        &self.device
    }

    /// Returns the queue.
    pub(crate) fn queue(&self) -> &wgpu::Queue {
        &self.queue
    }

    /// Creates and counts a buffer.
    pub(crate) fn buffer(&mut self, bytes: usize, usage: wgpu::BufferUsages) -> wgpu::Buffer {
        self.buffers += 1;
        create_buffer(&self.device, bytes, usage)
    }

    /// Records the work on a frame. Returns the work, and the buffer for the picture.
    pub(crate) fn record(&mut self, greys: &[u8]) -> (wgpu::CommandEncoder, wgpu::Buffer) {
        let bytes = self.filter.pixels() * size_of::<f32>();
        let storage = wgpu::BufferUsages::STORAGE;
        let words = self.buffer(greys.len(), storage | wgpu::BufferUsages::COPY_DST);
        self.queue.write_buffer(&words, 0, greys);
        let [grey, half_blurred, blurred, sharp, edges] =
            [(); 5].map(|()| self.buffer(bytes, storage));
        let picture = self.buffer(bytes, storage | wgpu::BufferUsages::COPY_SRC);

        let bindings: [&[&wgpu::Buffer]; KERNELS.len()] = [
            &[&words, &grey],
            &[&grey, &self.weights, &half_blurred],
            &[&half_blurred, &self.weights, &blurred],
            &[&grey, &blurred, &sharp],
            &[&blurred, &edges],
            &[&sharp, &edges, &picture],
        ];
        let mut encoder = self.device.create_command_encoder(&Default::default());
        let mut pass = encoder.begin_compute_pass(&Default::default());
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
        (encoder, picture)
    }

    /// Returns the number of buffers and of bind groups created for frames.
    pub(crate) fn created(&self) -> [u64; 2] {
        [self.buffers, self.bind_groups]
    }
}

/// Creates a buffer.
pub(crate) fn create_buffer(
    device: &wgpu::Device,
    bytes: usize,
    usage: wgpu::BufferUsages,
) -> wgpu::Buffer {
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
