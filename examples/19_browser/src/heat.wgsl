// The kernels of the page's heat equation other than the stencil: one warms a position, and the
// other computes colours.

struct Brush {
    side: u32,
    x: f32,
    y: f32,
    radius: f32,
    heat: f32,
}

@group(1) @binding(0) var<uniform> brush: Brush;

@group(0) @binding(0) var<storage, read_write> plane: array<f32>;

@compute @workgroup_size(64)
fn warm(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
    for (var i = id.x; i < brush.side * brush.side; i += groups.x * 64u) {
        let place = vec2(f32(i % brush.side) - brush.x, f32(i / brush.side) - brush.y);
        let near = 1.0 - smoothstep(0.0, brush.radius, length(place));
        plane[i] = min(plane[i] + brush.heat * near, 1.0);
    }
}

@group(0) @binding(0) var<storage, read> temperatures: array<f32>;
@group(0) @binding(1) var<storage, read_write> picture: array<u32>;

@compute @workgroup_size(64)
fn colour(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
    for (var i = id.x; i < brush.side * brush.side; i += groups.x * 64u) {
        let t = clamp(temperatures[i], 0.0, 1.0);
        let cold = mix(vec3(0.05, 0.06, 0.20), vec3(0.70, 0.10, 0.35), smoothstep(0.0, 0.45, t));
        let hot = mix(cold, vec3(1.0, 0.75, 0.20), smoothstep(0.35, 0.75, t));
        picture[i] = pack4x8unorm(vec4(mix(hot, vec3(1.0), smoothstep(0.75, 1.0, t)), 1.0));
    }
}
