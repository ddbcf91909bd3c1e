// y[i] = factor * x[i] + y[i], for each i below the count. Any grid along x.

struct Axpy { factor: f32, count: u32 }

@group(0) @binding(0) var<storage, read> x: array<f32>;
@group(0) @binding(1) var<storage, read_write> y: array<f32>;
@group(1) @binding(0) var<uniform> parameters: Axpy;

@compute @workgroup_size(64)
fn axpy(
    @builtin(global_invocation_id) invocation: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
) {
    let stride = groups.x * 64u;
    for (var i = invocation.x; i < parameters.count; i += stride) {
        y[i] = parameters.factor * x[i] + y[i];
    }
}
