// The operations of `Algebra` for wgpu, on numbers of the type `Number`. The host defines this type
// in a line before this source.

struct Parameters {
    // The number of elements of the result.
    count: u32,
    // 1 if the sign of `add_ratio` is -1, and 0 otherwise.
    negative: u32,
}

@group(1) @binding(0) var<uniform> parameters: Parameters;

const WIDTH: u32 = 64;

@group(0) @binding(0) var<storage, read> values: array<Number>;
@group(0) @binding(1) var<storage, read> columns: array<u32>;
@group(0) @binding(2) var<storage, read> starts: array<u32>;
@group(0) @binding(3) var<storage, read> vector: array<Number>;
@group(0) @binding(4) var<storage, read_write> product: array<Number>;

@compute @workgroup_size(WIDTH)
fn multiply(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
    for (var row = id.x; row < parameters.count; row += groups.x * WIDTH) {
        var sum = Number();
        for (var at = starts[row]; at < starts[row + 1]; at++) {
            sum += values[at] * vector[columns[at]];
        }
        product[row] = sum;
    }
}

@group(0) @binding(0) var<storage, read> term: array<Number>;
@group(0) @binding(1) var<storage, read_write> total: array<Number>;

@compute @workgroup_size(WIDTH)
fn add(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
    for (var at = id.x; at < parameters.count; at += groups.x * WIDTH) {
        total[at] += term[at];
    }
}

@group(0) @binding(0) var<storage, read> left: array<Number>;
@group(0) @binding(1) var<storage, read> right: array<Number>;
@group(0) @binding(2) var<storage, read_write> scalar: array<Number>;

var<workgroup> sums: array<Number, WIDTH>;

// A single workgroup sums in the same order every time, so even the last bits are reproducible.
@compute @workgroup_size(WIDTH)
fn dot_product(@builtin(local_invocation_index) lane: u32) {
    var sum = Number();
    for (var at = lane; at < parameters.count; at += WIDTH) {
        sum += left[at] * right[at];
    }
    sums[lane] = sum;
    for (var apart = WIDTH / 2; apart > 0; apart /= 2) {
        workgroupBarrier();
        if lane < apart {
            sums[lane] += sums[lane + apart];
        }
    }
    if lane == 0 {
        scalar[0] += sums[0];
    }
}

@group(0) @binding(0) var<storage, read> numerator: array<Number>;
@group(0) @binding(1) var<storage, read> denominator: array<Number>;
@group(0) @binding(2) var<storage, read> x: array<Number>;
@group(0) @binding(3) var<storage, read_write> y: array<Number>;

@compute @workgroup_size(WIDTH)
fn add_ratio(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
    let ratio = numerator[0] / denominator[0];
    let factor = select(ratio, -ratio, parameters.negative != 0);
    for (var at = id.x; at < parameters.count; at += groups.x * WIDTH) {
        y[at] += factor * x[at];
    }
}

@compute @workgroup_size(WIDTH)
fn scale_by_ratio(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
    let factor = numerator[0] / denominator[0];
    for (var at = id.x; at < parameters.count; at += groups.x * WIDTH) {
        y[at] = x[at] + factor * y[at];
    }
}
