// Repeatedly writes a pattern of words to the bytes from `start` to `end` (exclusive).
struct Fill { start: u32, end: u32, period: u32, phase: u32, pattern: array<vec4<u32>, 12> }

@group(0) @binding(0) var<storage, read_write> to: array<u32>;
@group(1) @binding(0) var<uniform> fill: Fill;

// A mask that selects the bytes of a word that lie between `start` and `end`.
fn mask_of(word: u32) -> u32 {
    let first = max(fill.start, word * 4u) - word * 4u;
    let behind = min(fill.end, word * 4u + 4u) - word * 4u;
    return (0xffffffffu << (8u * first)) & (0xffffffffu >> (8u * (4u - behind)));
}

@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
    let first = fill.start / 4u;
    let count = (fill.end + 3u) / 4u - first;
    for (var i = id.x; i < count; i += groups.x * 64u) {
        let word = first + i;
        let at = (fill.phase + i) % fill.period;
        let value = fill.pattern[at / 4u][at % 4u];
        let mask = mask_of(word);
        if mask == 0xffffffffu {
            to[word] = value;
        } else {
            to[word] = (to[word] & ~mask) | (value & mask);
        }
    }
}
