// Weighted sums over a square around each point of a row-major plane. The weights are taken as they lie, not mirrored;
// outside of the plane are the values of the nearest point within. Any grid along x and y.

struct Convolution { width: u32, height: u32, radius: u32 }

@group(0) @binding(0) var<storage, read> from_plane: array<f32>;
@group(0) @binding(1) var<storage, read> weights: array<f32>;
@group(0) @binding(2) var<storage, read_write> to_plane: array<f32>;
@group(1) @binding(0) var<uniform> parameters: Convolution;

fn value(x: i32, y: i32) -> f32 {
    let width = i32(parameters.width);
    let height = i32(parameters.height);
    return from_plane[clamp(y, 0, height - 1) * width + clamp(x, 0, width - 1)];
}

// The weights of a square, of 2 * radius + 1 rows and columns.
@compute @workgroup_size(8, 8)
fn convolve(
    @builtin(global_invocation_id) invocation: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
) {
    let stride = groups.xy * 8u;
    let radius = i32(parameters.radius);
    for (var y = invocation.y; y < parameters.height; y += stride.y) {
        for (var x = invocation.x; x < parameters.width; x += stride.x) {
            var sum = 0.0;
            for (var row = -radius; row <= radius; row++) {
                for (var column = -radius; column <= radius; column++) {
                    let weight = weights[(row + radius) * (2 * radius + 1) + column + radius];
                    sum += weight * value(i32(x) + column, i32(y) + row);
                }
            }
            to_plane[y * parameters.width + x] = sum;
        }
    }
}

// 2 * radius + 1 weights, along the rows.
@compute @workgroup_size(8, 8)
fn convolve_rows(
    @builtin(global_invocation_id) invocation: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
) {
    let stride = groups.xy * 8u;
    let radius = i32(parameters.radius);
    for (var y = invocation.y; y < parameters.height; y += stride.y) {
        for (var x = invocation.x; x < parameters.width; x += stride.x) {
            var sum = 0.0;
            for (var column = -radius; column <= radius; column++) {
                sum += weights[column + radius] * value(i32(x) + column, i32(y));
            }
            to_plane[y * parameters.width + x] = sum;
        }
    }
}

// 2 * radius + 1 weights, along the columns.
@compute @workgroup_size(8, 8)
fn convolve_columns(
    @builtin(global_invocation_id) invocation: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
) {
    let stride = groups.xy * 8u;
    let radius = i32(parameters.radius);
    for (var y = invocation.y; y < parameters.height; y += stride.y) {
        for (var x = invocation.x; x < parameters.width; x += stride.x) {
            var sum = 0.0;
            for (var row = -radius; row <= radius; row++) {
                sum += weights[row + radius] * value(i32(x), i32(y) + row);
            }
            to_plane[y * parameters.width + x] = sum;
        }
    }
}
