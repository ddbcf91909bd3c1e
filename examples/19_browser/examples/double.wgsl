@group(0) @binding(0) var<storage, read_write> numbers: array<f32>;

@compute @workgroup_size(64)
fn double(@builtin(global_invocation_id) id: vec3<u32>) {
    if id.x < arrayLength(&numbers) {
        numbers[id.x] = 2.0 * numbers[id.x];
    }
}
