
// Copies within the words of one buffer. One word may contain both bytes that are read and bytes
// that are written. The words are atomic, so the bytes that are read stay unchanged.
@group(0) @binding(0) var<storage, read_write> to: array<atomic<u32>>;

fn load(word: u32) -> u32 {
    if word < arrayLength(&to) { return atomicLoad(&to[word]); }
    return 0u;
}

fn there(word: u32) -> u32 { return atomicLoad(&to[word]); }

fn store(word: u32, value: u32) { atomicStore(&to[word], value); }
