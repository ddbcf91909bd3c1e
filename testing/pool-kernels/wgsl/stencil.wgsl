// to = centre * from + neighbour * (left + right + upper + lower), point by point in a row-major plane that is
// surrounded by zeros. Any grid along x and y.

struct Stencil { width: u32, height: u32, centre: f32, neighbour: f32 }

@group(0) @binding(0) var<storage, read> from_plane: array<f32>;
@group(0) @binding(1) var<storage, read_write> to_plane: array<f32>;
@group(1) @binding(0) var<uniform> parameters: Stencil;

fn neighbours(x: u32, y: u32) -> f32 {
    let here = y * parameters.width + x;
    var sum = 0.0;
    if x > 0u { sum += from_plane[here - 1u]; }
    if x + 1u < parameters.width { sum += from_plane[here + 1u]; }
    if y > 0u { sum += from_plane[here - parameters.width]; }
    if y + 1u < parameters.height { sum += from_plane[here + parameters.width]; }
    return sum;
}

@compute @workgroup_size(8, 8)
fn stencil(
    @builtin(global_invocation_id) invocation: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
) {
    let stride = groups.xy * 8u;
    for (var y = invocation.y; y < parameters.height; y += stride.y) {
        for (var x = invocation.x; x < parameters.width; x += stride.x) {
            let here = y * parameters.width + x;
            to_plane[here] = parameters.centre * from_plane[here]
                + parameters.neighbour * neighbours(x, y);
        }
    }
}
