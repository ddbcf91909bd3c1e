// Copies bytes between arbitrary positions. The host appends a second source that defines how words
// are accessed: `load` returns a word of the source, or 0 past the last word; `there` returns a
// word of the destination; `store` writes a word of the destination.
struct Copy { from_start: u32, start: u32, bytes: u32, unused: u32 }

@group(1) @binding(0) var<uniform> copy: Copy;

fn mask_of(word: u32) -> u32 {
    let end = copy.start + copy.bytes;
    let first = max(copy.start, word * 4u) - word * 4u;
    let behind = min(end, word * 4u + 4u) - word * 4u;
    return (0xffffffffu << (8u * first)) & (0xffffffffu >> (8u * (4u - behind)));
}

@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
    let first = copy.start / 4u;
    let count = (copy.start + copy.bytes + 3u) / 4u - first;
    for (var i = id.x; i < count; i += groups.x * 64u) {
        let word = first + i;
        // The position of the word's first byte in the source. The number 4 is added, so that the
        // position is never negative.
        let at = copy.from_start + 4u + word * 4u - copy.start;
        let shift = 8u * (at % 4u);
        var value = 0u;
        if at >= 4u { value = load(at / 4u - 1u) >> shift; }
        if shift != 0u { value |= load(at / 4u) << (32u - shift); }
        let mask = mask_of(word);
        if mask == 0xffffffffu {
            store(word, value);
        } else {
            store(word, (there(word) & ~mask) | (value & mask));
        }
    }
}
