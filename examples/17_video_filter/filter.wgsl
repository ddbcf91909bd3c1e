// The steps of the filter other than the blur. Grey levels range from 0 to 1.

struct Filter {
    width: u32,
    height: u32,
    // The factor by which the filter amplifies the detail that the blur removes.
    amount: f32,
    // The steepness at which an edge starts to show.
    threshold: f32,
}

@group(1) @binding(0) var<uniform> parameters: Filter;

// Unpacks four pixels from each word of a frame.

@group(0) @binding(0) var<storage, read> words: array<u32>;
@group(0) @binding(1) var<storage, read_write> unpacked: array<f32>;

@compute @workgroup_size(64)
fn unpack(
    @builtin(global_invocation_id) invocation: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
) {
    let count = parameters.width * parameters.height / 4u;
    for (var i = invocation.x; i < count; i += groups.x * 64u) {
        let pixels = unpack4x8unorm(words[i]);
        for (var pixel = 0u; pixel < 4u; pixel++) {
            unpacked[4u * i + pixel] = pixels[pixel];
        }
    }
}

// Applies the unsharp mask.

@group(0) @binding(0) var<storage, read> grey: array<f32>;
@group(0) @binding(1) var<storage, read> blurred: array<f32>;
@group(0) @binding(2) var<storage, read_write> sharpened: array<f32>;

@compute @workgroup_size(64)
fn sharpen(
    @builtin(global_invocation_id) invocation: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
) {
    let count = parameters.width * parameters.height;
    for (var i = invocation.x; i < count; i += groups.x * 64u) {
        let detail = grey[i] - blurred[i];
        sharpened[i] = clamp(grey[i] + parameters.amount * detail, 0.0, 1.0);
    }
}

// Computes the magnitude of the gradient with Sobel's operator.

@group(0) @binding(0) var<storage, read> smooth_plane: array<f32>;
@group(0) @binding(1) var<storage, read_write> steepness: array<f32>;

fn level(x: i32, y: i32) -> f32 {
    let width = i32(parameters.width);
    let height = i32(parameters.height);
    return smooth_plane[clamp(y, 0, height - 1) * width + clamp(x, 0, width - 1)];
}

@compute @workgroup_size(8, 8)
fn gradient(
    @builtin(global_invocation_id) invocation: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
) {
    for (var row = invocation.y; row < parameters.height; row += groups.y * 8u) {
        for (var column = invocation.x; column < parameters.width; column += groups.x * 8u) {
            let x = i32(column);
            let y = i32(row);
            let right = level(x + 1, y - 1) + 2.0 * level(x + 1, y) + level(x + 1, y + 1);
            let left = level(x - 1, y - 1) + 2.0 * level(x - 1, y) + level(x - 1, y + 1);
            let lower = level(x - 1, y + 1) + 2.0 * level(x, y + 1) + level(x + 1, y + 1);
            let upper = level(x - 1, y - 1) + 2.0 * level(x, y - 1) + level(x + 1, y - 1);
            steepness[row * parameters.width + column] = length(vec2(right - left, lower - upper));
        }
    }
}

// Draws the edges in orange over the sharpened frame. Each word holds one pixel of red, green, blue
// and alpha.

@group(0) @binding(0) var<storage, read> sharp: array<f32>;
@group(0) @binding(1) var<storage, read> edges: array<f32>;
@group(0) @binding(2) var<storage, read_write> picture: array<u32>;

@compute @workgroup_size(64)
fn composite(
    @builtin(global_invocation_id) invocation: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
) {
    let count = parameters.width * parameters.height;
    for (var i = invocation.x; i < count; i += groups.x * 64u) {
        let edge = smoothstep(parameters.threshold, 3.0 * parameters.threshold, edges[i]);
        let colour = mix(vec3(sharp[i]), vec3(1.0, 0.55, 0.1), edge);
        picture[i] = pack4x8unorm(vec4(colour, 1.0));
    }
}
