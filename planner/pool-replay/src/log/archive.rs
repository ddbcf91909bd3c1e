//! The archive that `torch.save` writes. The archive is a ZIP file whose entry `…/data.pkl` is the
//! pickle, stored without compression.

use std::io::{self, Read, Seek, SeekFrom};

use super::error::LogError;

/// The size of the end record of the central directory, without its comment.
const END: usize = 22;
/// The number of bytes at the end of the file that are searched for the end record. The comment of
/// the end record is at most 65,535 bytes long.
const MOST_END: u64 = 1 << 17;
/// The maximum number of bytes of the central directory that are read.
const MOST_DIRECTORY: u64 = 1 << 26;

/// The bytes of an entry.
#[derive(Debug)]
pub(super) struct Entry<R> {
    reader: R,
    start: u64,
    length: u64,
    /// The number of bytes that were read so far.
    at: u64,
}

impl<R> Entry<R> {
    pub(super) fn get_ref(&self) -> &R {
        &self.reader
    }
}

impl<R: Read> Read for Entry<R> {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        let left = usize::try_from(self.length - self.at).unwrap_or(usize::MAX);
        let most = bytes.len().min(left);
        let read = self.reader.read(&mut bytes[..most])?;
        self.at += read as u64;
        Ok(read)
    }
}

impl<R: Seek> Seek for Entry<R> {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        let at = match to {
            SeekFrom::Start(at) => Some(at),
            SeekFrom::Current(by) => self.at.checked_add_signed(by),
            SeekFrom::End(by) => self.length.checked_add_signed(by),
        };
        let at = at.filter(|&at| at <= self.length).ok_or_else(|| {
            io::Error::new(io::ErrorKind::InvalidInput, "a seek beyond the end of an archive entry")
        })?;
        self.reader.seek(SeekFrom::Start(self.start + at))?;
        self.at = at;
        Ok(at)
    }
}

fn wrong(message: impl Into<String>) -> LogError {
    LogError::Archive { message: message.into() }
}

/// Returns the little-endian number at a position, or 0 if the position is beyond the end.
fn number(bytes: &[u8], at: usize, length: usize) -> u64 {
    let bytes = bytes.get(at..at + length).unwrap_or_default();
    bytes.iter().rev().fold(0, |sum, &byte| sum << 8 | u64::from(byte))
}

/// A file in the central directory.
struct File {
    name: String,
    method: u64,
    length: u64,
    offset: u64,
}

/// Returns the pickle in an archive.
pub(super) fn snapshot<R: Read + Seek>(mut reader: R) -> Result<Entry<R>, LogError> {
    let directory = directory(&mut reader)?;
    let is_pickle = |file: &File| file.name == "data.pkl" || file.name.ends_with("/data.pkl");
    let files = files(&directory)?;
    let file = match files.iter().find(|file| is_pickle(file)) {
        Some(file) => file,
        None => {
            let names: Vec<&str> = files.iter().take(3).map(|file| file.name.as_str()).collect();
            let names = names.join(", ");
            return Err(wrong(format!(
                "the archive contains no data.pkl of torch.save, but {names}"
            )));
        }
    };
    if file.method != 0 {
        let message = "data.pkl is compressed, but torch.save writes it uncompressed: decompress \
                       the archive first";
        return Err(wrong(message));
    }
    let mut head = [0; 30];
    reader.seek(SeekFrom::Start(file.offset))?;
    reader.read_exact(&mut head).map_err(|_| wrong("the file ends within data.pkl"))?;
    if head[..4] != *b"PK\x03\x04" {
        return Err(wrong("data.pkl is not at the offset that the directory states"));
    }
    let start = file.offset + 30 + number(&head, 26, 2) + number(&head, 28, 2);
    reader.seek(SeekFrom::Start(start))?;
    Ok(Entry { reader, start, length: file.length, at: 0 })
}

/// Returns the bytes of the central directory.
fn directory<R: Read + Seek>(reader: &mut R) -> Result<Vec<u8>, LogError> {
    let length = reader.seek(SeekFrom::End(0))?;
    let from = length.saturating_sub(MOST_END);
    reader.seek(SeekFrom::Start(from))?;
    let mut tail = Vec::new();
    reader.by_ref().take(MOST_END).read_to_end(&mut tail)?;
    let at = tail.windows(4).rposition(|bytes| bytes == b"PK\x05\x06");
    let at = at.filter(|at| at + END <= tail.len());
    let at = at.ok_or_else(|| wrong("the file ends before its directory"))?;
    let (mut size, mut offset) = (number(&tail, at + 12, 4), number(&tail, at + 16, 4));
    // Large archives store the size and the offset in another record, and a locator before the end
    // record points to it.
    let locator = at.checked_sub(20).filter(|&at| tail[at..at + 4] == *b"PK\x06\x07");
    if let Some(locator) = locator.filter(|_| size == 0xffff_ffff || offset == 0xffff_ffff) {
        let mut end = [0; 56];
        reader.seek(SeekFrom::Start(number(&tail, locator + 8, 8)))?;
        reader.read_exact(&mut end).map_err(|_| wrong("the file ends before its directory"))?;
        (size, offset) = (number(&end, 40, 8), number(&end, 48, 8));
    }
    if size > MOST_DIRECTORY {
        return Err(wrong(format!(
            "the directory has {size} bytes, but at most {MOST_DIRECTORY} are read"
        )));
    }
    reader.seek(SeekFrom::Start(offset))?;
    let mut directory = Vec::new();
    reader.by_ref().take(size).read_to_end(&mut directory)?;
    Ok(directory)
}

/// Returns the files in a central directory.
fn files(mut directory: &[u8]) -> Result<Vec<File>, LogError> {
    let mut files = Vec::new();
    while directory.starts_with(b"PK\x01\x02") {
        let lengths = [28, 30, 32].map(|at| usize::try_from(number(directory, at, 2)));
        let [Ok(name), Ok(extra), Ok(comment)] = lengths else { break };
        let end = 46 + name + extra + comment;
        let Some(record) = directory.get(..end) else {
            return Err(wrong("the directory ends within the entry of a file"));
        };
        let mut file = File {
            name: String::from_utf8_lossy(&record[46..46 + name]).into_owned(),
            method: number(record, 10, 2),
            length: number(record, 24, 4),
            offset: number(record, 42, 4),
        };
        wide(&mut file, &record[46 + name..46 + name + extra], number(record, 20, 4));
        files.push(file);
        directory = &directory[end..];
    }
    Ok(files)
}

/// Reads 64-bit numbers from the extra fields if the 32-bit fields are saturated.
fn wide(file: &mut File, mut extra: &[u8], compressed: u64) {
    while extra.len() >= 4 {
        let length = usize::try_from(number(extra, 2, 2)).unwrap_or(usize::MAX);
        let end = extra.len().min(4 + length);
        if number(extra, 0, 2) == 1 {
            let fields = &extra[4..end];
            let mut at = 0;
            let mut next = |full: bool, to: &mut u64| {
                if full {
                    *to = number(fields, at, 8);
                    at += 8;
                }
            };
            let (is_long, is_far) = (file.length == 0xffff_ffff, file.offset == 0xffff_ffff);
            next(is_long, &mut file.length);
            next(compressed == 0xffff_ffff, &mut { compressed });
            next(is_far, &mut file.offset);
        }
        extra = &extra[end..];
    }
}
