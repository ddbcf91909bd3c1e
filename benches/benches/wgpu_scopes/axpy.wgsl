struct Parameters { factor: f32, count: u32 }
@group(0) @binding(0) var<storage, read> x: array<f32>;
@group(0) @binding(1) var<storage, read> y: array<f32>;
@group(0) @binding(2) var<storage, read_write> to: array<f32>;
@group(1) @binding(0) var<uniform> parameters: Parameters;

@compute @workgroup_size(64)
fn axpy(@builtin(global_invocation_id) id: vec3<u32>) {
    if (id.x < parameters.count) {
        to[id.x] = parameters.factor * x[id.x] + y[id.x];
    }
}
