//! The same recording as a user of wgpu writes it without a pool. Passes have the same number of
//! dispatches, and their parameters are in one buffer. So only the source of buffers and bind
//! groups differs.

use pool_facade::pool_wgpu::wgpu;

use super::{SOURCE, WORKGROUP};

/// The parameters of one dispatch begin at a multiple of this.
const SLOT: usize = 256;
/// The number of dispatches of one submission, the same as a stream's.
const BATCH: usize = 512;

/// A pipeline, and one encoder with one pass.
pub(crate) struct ByHand {
    device: wgpu::Device,
    queue: wgpu::Queue,
    pipeline: wgpu::ComputePipeline,
    layout: wgpu::BindGroupLayout,
    parameter_buffer: wgpu::Buffer,
    parameter_group: wgpu::BindGroup,
    parameters: Vec<u8>,
    encoder: Option<wgpu::CommandEncoder>,
    pass: Option<wgpu::ComputePass<'static>>,
}

fn layout_of(device: &wgpu::Device, types: &[wgpu::BufferBindingType]) -> wgpu::BindGroupLayout {
    let entries: Vec<_> = (0..)
        .zip(types)
        .map(|(binding, &ty)| wgpu::BindGroupLayoutEntry {
            binding,
            visibility: wgpu::ShaderStages::COMPUTE,
            ty: wgpu::BindingType::Buffer {
                ty,
                has_dynamic_offset: ty == wgpu::BufferBindingType::Uniform,
                min_binding_size: None,
            },
            count: None,
        })
        .collect();
    device.create_bind_group_layout(&wgpu::BindGroupLayoutDescriptor {
        label: None,
        entries: &entries,
    })
}

impl ByHand {
    pub(crate) fn new(device: wgpu::Device, queue: wgpu::Queue) -> Self {
        let module = device.create_shader_module(wgpu::ShaderModuleDescriptor {
            label: None,
            source: wgpu::ShaderSource::Wgsl(SOURCE.into()),
        });
        let storage = |read_only| wgpu::BufferBindingType::Storage { read_only };
        let layout = layout_of(&device, &[storage(true), storage(true), storage(false)]);
        let of_parameters = layout_of(&device, &[wgpu::BufferBindingType::Uniform]);
        let both = device.create_pipeline_layout(&wgpu::PipelineLayoutDescriptor {
            label: None,
            bind_group_layouts: &[Some(&layout), Some(&of_parameters)],
            immediate_size: 0,
        });
        let pipeline = device.create_compute_pipeline(&wgpu::ComputePipelineDescriptor {
            label: None,
            layout: Some(&both),
            module: &module,
            entry_point: Some("axpy"),
            compilation_options: wgpu::PipelineCompilationOptions::default(),
            cache: None,
        });
        let parameter_buffer = device.create_buffer(&wgpu::BufferDescriptor {
            label: None,
            size: (SLOT * BATCH) as u64,
            usage: wgpu::BufferUsages::UNIFORM | wgpu::BufferUsages::COPY_DST,
            mapped_at_creation: false,
        });
        let binding = wgpu::BufferBinding {
            buffer: &parameter_buffer,
            offset: 0,
            size: wgpu::BufferSize::new(SLOT as u64),
        };
        let parameter_group = device.create_bind_group(&wgpu::BindGroupDescriptor {
            label: None,
            layout: &of_parameters,
            entries: &[wgpu::BindGroupEntry {
                binding: 0,
                resource: wgpu::BindingResource::Buffer(binding),
            }],
        });
        let (parameters, encoder, pass) = (Vec::new(), None, None);
        Self {
            device,
            queue,
            pipeline,
            layout,
            parameter_buffer,
            parameter_group,
            parameters,
            encoder,
            pass,
        }
    }

    pub(crate) fn buffer(&self, elements: usize) -> wgpu::Buffer {
        self.device.create_buffer(&wgpu::BufferDescriptor {
            label: None,
            size: elements as u64 * 4,
            usage: wgpu::BufferUsages::STORAGE
                | wgpu::BufferUsages::COPY_SRC
                | wgpu::BufferUsages::COPY_DST,
            mapped_at_creation: false,
        })
    }

    pub(crate) fn group(&self, buffers: &[wgpu::Buffer; 3]) -> wgpu::BindGroup {
        let entries: Vec<_> = (0..)
            .zip(buffers)
            .map(|(binding, buffer)| wgpu::BindGroupEntry {
                binding,
                resource: buffer.as_entire_binding(),
            })
            .collect();
        self.device.create_bind_group(&wgpu::BindGroupDescriptor {
            label: None,
            layout: &self.layout,
            entries: &entries,
        })
    }

    pub(crate) fn dispatch(&mut self, group: &wgpu::BindGroup, parameters: &[u8], elements: u32) {
        if self.parameters.len() == SLOT * BATCH {
            self.submit();
        }
        let at = u32::try_from(self.parameters.len()).unwrap();
        self.parameters.extend_from_slice(parameters);
        self.parameters.resize(at as usize + SLOT, 0);
        let device = &self.device;
        let encoder =
            self.encoder.get_or_insert_with(|| device.create_command_encoder(&Default::default()));
        let pass = self.pass.get_or_insert_with(|| {
            encoder.begin_compute_pass(&Default::default()).forget_lifetime()
        });
        pass.set_pipeline(&self.pipeline);
        pass.set_bind_group(0, group, &[]);
        pass.set_bind_group(1, &self.parameter_group, &[at]);
        pass.dispatch_workgroups(elements.div_ceil(WORKGROUP), 1, 1);
    }

    /// Returns the encoder, outside of any pass.
    pub(crate) fn encoder(&mut self) -> &mut wgpu::CommandEncoder {
        self.pass = None;
        let device = &self.device;
        self.encoder.get_or_insert_with(|| device.create_command_encoder(&Default::default()))
    }

    pub(crate) fn submit(&mut self) {
        self.pass = None;
        if let Some(encoder) = self.encoder.take() {
            self.queue.write_buffer(&self.parameter_buffer, 0, &self.parameters);
            self.parameters.clear();
            self.queue.submit([encoder.finish()]);
        }
    }
}
