
// Copies words from one buffer to another buffer.
@group(0) @binding(0) var<storage, read_write> to: array<u32>;
@group(0) @binding(1) var<storage, read> from_words: array<u32>;

fn load(word: u32) -> u32 {
    if word < arrayLength(&from_words) { return from_words[word]; }
    return 0u;
}

fn there(word: u32) -> u32 { return to[word]; }

fn store(word: u32, value: u32) { to[word] = value; }
