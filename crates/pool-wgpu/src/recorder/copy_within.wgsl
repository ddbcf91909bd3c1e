
// Copies words within one buffer. The same word may contain bytes that are read and bytes that are
// written. The words are accessed with atomic operations, so bytes that are only read stay
// unchanged.
@group(0) @binding(0) var<storage, read_write> to: array<atomic<u32>>;

fn load(word: u32) -> u32 {
    if word < arrayLength(&to) { return atomicLoad(&to[word]); }
    return 0u;
}

fn there(word: u32) -> u32 { return atomicLoad(&to[word]); }

fn store(word: u32, value: u32) { atomicStore(&to[word], value); }
