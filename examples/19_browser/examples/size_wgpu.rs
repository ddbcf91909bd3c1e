//! The program of `size_pool_wgpu` with wgpu alone. docs/wgpu.md links to the sizes of the modules.

#![cfg(target_arch = "wasm32")]

use bytemuck::cast_slice;
use js_sys::Promise;
use pool_wgpu::wgpu;
use wasm_bindgen::prelude::{JsError, JsValue, wasm_bindgen};
use wasm_bindgen_futures::JsFuture;

/// Doubles the numbers.
///
/// # Errors
///
/// Fails if the browser has no WebGPU, no adapter, or no memory.
#[wasm_bindgen]
pub async fn doubled(numbers: Vec<f32>) -> Result<Vec<f32>, JsError> {
    let instance = wgpu::Instance::default();
    let adapter = instance.request_adapter(&wgpu::RequestAdapterOptions::default()).await?;
    let (device, queue) = adapter.request_device(&wgpu::DeviceDescriptor::default()).await?;
    let module = device.create_shader_module(wgpu::ShaderModuleDescriptor {
        label: None,
        source: wgpu::ShaderSource::Wgsl(include_str!("double.wgsl").into()),
    });
    let pipeline = device.create_compute_pipeline(&wgpu::ComputePipelineDescriptor {
        label: None,
        layout: None,
        module: &module,
        entry_point: Some("double"),
        compilation_options: wgpu::PipelineCompilationOptions::default(),
        cache: None,
    });
    let usage =
        wgpu::BufferUsages::STORAGE | wgpu::BufferUsages::COPY_DST | wgpu::BufferUsages::COPY_SRC;
    let size = size_of_val(&numbers[..]) as u64;
    let buffer = |usage| {
        let label = None;
        device.create_buffer(&wgpu::BufferDescriptor {
            label,
            size,
            usage,
            mapped_at_creation: false,
        })
    };
    let array = buffer(usage);
    queue.write_buffer(&array, 0, cast_slice(&numbers));
    let group = device.create_bind_group(&wgpu::BindGroupDescriptor {
        label: None,
        layout: &pipeline.get_bind_group_layout(0),
        entries: &[wgpu::BindGroupEntry { binding: 0, resource: array.as_entire_binding() }],
    });
    let mut encoder = device.create_command_encoder(&wgpu::CommandEncoderDescriptor::default());
    let mut pass = encoder.begin_compute_pass(&wgpu::ComputePassDescriptor::default());
    pass.set_pipeline(&pipeline);
    pass.set_bind_group(0, &group, &[]);
    pass.dispatch_workgroups(u32::try_from(numbers.len().div_ceil(64))?, 1, 1);
    drop(pass);
    let staging = buffer(wgpu::BufferUsages::MAP_READ | wgpu::BufferUsages::COPY_DST);
    encoder.copy_buffer_to_buffer(&array, 0, &staging, 0, size);
    queue.submit([encoder.finish()]);
    let mapped = Promise::new(&mut |resolve, reject| {
        staging.map_async(wgpu::MapMode::Read, .., move |answer| {
            // An error means that the page dropped the promise.
            let _ = match answer {
                Ok(()) => resolve.call0(&JsValue::NULL),
                Err(error) => reject.call1(&JsValue::NULL, &error.to_string().into()),
            };
        });
    });
    JsFuture::from(mapped).await.map_err(|_| JsError::new("the buffer cannot be mapped"))?;
    let range = staging.get_mapped_range(..)?;
    Ok(cast_slice(&range).to_vec())
}
