// The dot product in two dispatches: each workgroup of the first sums its share of the products, and one workgroup of
// the second sums what the others found. The order of all additions follows from the count and the grid alone.

struct Dot { count: u32 }

@group(0) @binding(0) var<storage, read> x: array<f32>;
@group(0) @binding(1) var<storage, read> y: array<f32>;
@group(0) @binding(2) var<storage, read_write> partial_sums: array<f32>;

@group(0) @binding(0) var<storage, read> terms: array<f32>;
@group(0) @binding(1) var<storage, read_write> total: array<f32>;

@group(1) @binding(0) var<uniform> parameters: Dot;

var<workgroup> sums: array<f32, 64>;

// The sum of what the invocations of a workgroup bring, for the first of them.
fn sum_of_workgroup(own: f32, local: u32) -> f32 {
    sums[local] = own;
    for (var width = 32u; width > 0u; width /= 2u) {
        workgroupBarrier();
        if local < width {
            sums[local] += sums[local + width];
        }
    }
    return sums[0];
}

// partial_sums[group] = the sum of the group's share of x[i] * y[i]. Any grid along x.
@compute @workgroup_size(64)
fn dot_partial(
    @builtin(global_invocation_id) invocation: vec3<u32>,
    @builtin(local_invocation_id) local: vec3<u32>,
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
) {
    var own = 0.0;
    let stride = groups.x * 64u;
    for (var i = invocation.x; i < parameters.count; i += stride) {
        own += x[i] * y[i];
    }
    let sum = sum_of_workgroup(own, local.x);
    if local.x == 0u {
        partial_sums[group.x] = sum;
    }
}

// total[0] = the sum of the terms. One workgroup.
@compute @workgroup_size(64)
fn dot_total(@builtin(local_invocation_id) local: vec3<u32>) {
    var own = 0.0;
    for (var i = local.x; i < parameters.count; i += 64u) {
        own += terms[i];
    }
    let sum = sum_of_workgroup(own, local.x);
    if local.x == 0u {
        total[0] = sum;
    }
}
