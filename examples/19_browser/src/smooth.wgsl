// The host's smoothing along rows, in integers, with one level per word.

@group(1) @binding(0) var<uniform> side: u32;

@group(0) @binding(0) var<storage, read> levels: array<u32>;
@group(0) @binding(1) var<storage, read_write> smooth_levels: array<u32>;

fn level(row: u32, x: i32) -> u32 {
    return levels[row * side + u32(clamp(x, 0, i32(side) - 1))];
}

@compute @workgroup_size(64)
fn smooth_rows(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
    for (var i = id.x; i < side * side; i += groups.x * 64u) {
        let row = i / side;
        let x = i32(i % side);
        let ends = level(row, x - 2) + level(row, x + 2);
        let sides = level(row, x - 1) + level(row, x + 1);
        smooth_levels[i] = (ends + 4u * sides + 6u * level(row, x)) / 16u;
    }
}
