//! Generates a shared library whose symbols name functions of this program. It contains no code.
//!
//! A program opens a CUDA driver by the name of a library, `libcuda.so` or `libcuda.so.1`. If a
//! library of that name is already loaded, the dynamic loader returns it. This module therefore
//! generates a library that contains that name (`DT_SONAME`). It defines every call of the driver
//! as an *absolute symbol*, whose value is the address of a function in this program. The library
//! contains no code and no relocations. Its bytes are therefore the same on every 64-bit processor,
//! except for one number. The library can also be stored on a file system that is mounted without
//! execute permission.
//!
//! ```text
//! header, three program headers, dynamic section, hash table (one bucket), symbols, strings
//! ```

/// `EM_X86_64` or `EM_AARCH64`; `None` for other processors.
const MACHINE: Option<u16> = if cfg!(all(target_arch = "x86_64", target_pointer_width = "64")) {
    Some(62)
} else if cfg!(all(target_arch = "aarch64", target_endian = "little")) {
    Some(183)
} else {
    None
};

/// The sizes in bytes of the parts that have a fixed size.
const HEADER: usize = 64;
const PROGRAM_HEADER: usize = 56;
const PROGRAM_HEADERS: usize = 3;
const DYNAMIC_ENTRY: usize = 16;
const DYNAMIC_ENTRIES: usize = 7;
const SYMBOL: usize = 24;

/// Types of program headers, tags of dynamic entries, and other constants from `elf.h`.
const ET_DYN: u16 = 3;
const PT_LOAD: u32 = 1;
const PT_DYNAMIC: u32 = 2;
const PT_GNU_STACK: u32 = 0x6474_E551;
const READ_AND_WRITE: u32 = 6;
const DT_NULL: u64 = 0;
const DT_HASH: u64 = 4;
const DT_STRTAB: u64 = 5;
const DT_SYMTAB: u64 = 6;
const DT_STRSZ: u64 = 10;
const DT_SYMENT: u64 = 11;
const DT_SONAME: u64 = 14;
const GLOBAL_FUNCTION: u8 = (1 << 4) | 2;
const SHN_ABS: u16 = 0xFFF1;

/// The largest page size of any supported system. Segments may begin at a multiple of it.
const PAGE: u64 = 1 << 16;

/// Returns a library of this name with these functions, or `None` if the processor is not
/// supported.
pub(crate) fn image(name: &str, functions: &[(&str, u64)]) -> Option<Vec<u8>> {
    let machine = MACHINE?;
    let mut strings = Strings::default();
    let name = strings.add(name);
    let symbols: Vec<(u32, u64)> =
        functions.iter().map(|&(name, address)| (strings.add(name), address)).collect();

    let dynamic = HEADER + PROGRAM_HEADERS * PROGRAM_HEADER;
    let hash = dynamic + DYNAMIC_ENTRIES * DYNAMIC_ENTRY;
    // In words of 4 bytes, the hash table consists of two counts, one bucket, and a link for each
    // symbol. The first symbol is empty.
    let symbol_table = (hash + 4 * (2 + 1 + symbols.len() + 1)).next_multiple_of(8);
    let string_table = symbol_table + SYMBOL * (symbols.len() + 1);
    let end = string_table + strings.bytes.len();

    let mut bytes = Bytes::default();
    bytes.header(machine, HEADER);
    bytes.program_header(PT_LOAD, 0, end, PAGE);
    bytes.program_header(PT_DYNAMIC, dynamic, DYNAMIC_ENTRIES * DYNAMIC_ENTRY, 8);
    // Without this header, the loader would require an executable stack.
    bytes.program_header(PT_GNU_STACK, 0, 0, 16);
    for (tag, value) in [
        (DT_SONAME, u64::from(name)),
        (DT_HASH, hash as u64),
        (DT_STRTAB, string_table as u64),
        (DT_SYMTAB, symbol_table as u64),
        (DT_STRSZ, strings.bytes.len() as u64),
        (DT_SYMENT, SYMBOL as u64),
        (DT_NULL, 0),
    ] {
        bytes.u64(tag);
        bytes.u64(value);
    }
    bytes.hash(u32::try_from(symbols.len()).ok()?);
    bytes.pad(symbol_table);
    bytes.symbol(0, 0, 0, 0);
    for (name, address) in symbols {
        bytes.symbol(name, GLOBAL_FUNCTION, SHN_ABS, address);
    }
    bytes.0.extend(&strings.bytes);
    Some(bytes.0)
}

/// Zero-terminated texts that are stored one after the other. The first text is empty.
struct Strings {
    bytes: Vec<u8>,
}

impl Default for Strings {
    fn default() -> Self {
        Self { bytes: vec![0] }
    }
}

impl Strings {
    /// Adds a text and returns its offset.
    fn add(&mut self, text: &str) -> u32 {
        let start = u32::try_from(self.bytes.len()).unwrap_or(0);
        self.bytes.extend(text.bytes());
        self.bytes.push(0);
        start
    }
}

/// The bytes of the library. Numbers are stored with the lowest byte first.
#[derive(Default)]
struct Bytes(Vec<u8>);

impl Bytes {
    fn u16(&mut self, number: u16) {
        self.0.extend(number.to_le_bytes());
    }

    fn u32(&mut self, number: u32) {
        self.0.extend(number.to_le_bytes());
    }

    fn u64(&mut self, number: u64) {
        self.0.extend(number.to_le_bytes());
    }

    fn pad(&mut self, to: usize) {
        self.0.resize(to, 0);
    }

    fn header(&mut self, machine: u16, program_headers: usize) {
        // The fields mean 64 bits, lowest byte first, version 1.
        self.0.extend([0x7F, b'E', b'L', b'F', 2, 1, 1]);
        self.pad(16);
        self.u16(ET_DYN);
        self.u16(machine);
        self.u32(1);
        self.u64(0);
        self.u64(program_headers as u64);
        // The library has no sections.
        self.u64(0);
        self.u32(0);
        for number in [HEADER, PROGRAM_HEADER, PROGRAM_HEADERS, 0, 0, 0] {
            self.u16(u16::try_from(number).unwrap_or(0));
        }
    }

    fn program_header(&mut self, kind: u32, start: usize, len: usize, align: u64) {
        self.u32(kind);
        // The loader of older systems writes to the dynamic section.
        self.u32(READ_AND_WRITE);
        // The file offset, the virtual address and the physical address are equal.
        for _ in 0..3 {
            self.u64(start as u64);
        }
        self.u64(len as u64);
        self.u64(len as u64);
        self.u64(align);
    }

    /// Adds a hash table with all symbols in one chain. This is fast enough, because there are a
    /// few hundred symbols and each is looked up once.
    fn hash(&mut self, symbols: u32) {
        self.u32(1);
        self.u32(symbols + 1);
        self.u32(u32::from(symbols > 0));
        self.u32(0);
        for symbol in 1..=symbols {
            self.u32(if symbol < symbols { symbol + 1 } else { 0 });
        }
    }

    fn symbol(&mut self, name: u32, info: u8, section: u16, value: u64) {
        self.u32(name);
        self.0.extend([info, 0]);
        self.u16(section);
        self.u64(value);
        self.u64(0);
    }
}
