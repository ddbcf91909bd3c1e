//! Opens a file that is a log, a log compressed with gzip, or an archive of `torch.save` that
//! contains a pickle.

use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom};

use flate2::read::MultiGzDecoder;

use super::archive::{self, Entry};
use super::error::LogError;

/// The size of the read buffer in bytes.
const CHUNK: usize = 1 << 16;

/// A file without its wrapping, which may be gzip or the archive of `torch.save`.
///
/// A source can only seek to the start, and reaches other positions by reading.
#[derive(Debug)]
pub struct Source<R> {
    content: Content<R>,
}

#[derive(Debug)]
enum Content<R> {
    Plain(BufReader<R>),
    Gzip(Box<BufReader<MultiGzDecoder<R>>>),
    Archive(BufReader<Entry<R>>),
    /// The state between the end of one decoder and the start of the next one.
    Nothing,
}

impl<R: Read + Seek> Source<R> {
    /// Opens the file of a reader. If a reader cannot seek, such as a pipe, it is read unchanged,
    /// unless it is an archive.
    ///
    /// # Errors
    /// Fails if the reader fails, or if the file is an archive without a snapshot.
    pub fn new(reader: R) -> Result<Self, LogError> {
        let mut plain = BufReader::with_capacity(CHUNK, reader);
        let start = plain.fill_buf()?;
        let content = match start {
            [0x1f, 0x8b, ..] => {
                plain.seek(SeekFrom::Start(0)).map_err(|error| needs_file(&error))?;
                Content::Gzip(Box::new(gzip(plain.into_inner())))
            }
            [b'P', b'K', 3, 4, ..] => {
                let entry = archive::snapshot(plain.into_inner())?;
                Content::Archive(BufReader::with_capacity(CHUNK, entry))
            }
            _ => Content::Plain(plain),
        };
        Ok(Self { content })
    }
}

impl<R> Source<R> {
    /// The reader itself.
    pub fn get_ref(&self) -> Option<&R> {
        match &self.content {
            Content::Plain(plain) => Some(plain.get_ref()),
            Content::Gzip(gzip) => Some(gzip.get_ref().get_ref()),
            Content::Archive(entry) => Some(entry.get_ref().get_ref()),
            Content::Nothing => None,
        }
    }
}

fn needs_file(error: &io::Error) -> LogError {
    let why = format!(
        "a compressed log is read from its start, so the log must be a file and not a pipe: {error}"
    );
    io::Error::new(io::ErrorKind::InvalidInput, why).into()
}

fn gzip<R: Read>(reader: R) -> BufReader<MultiGzDecoder<R>> {
    BufReader::with_capacity(CHUNK, MultiGzDecoder::new(reader))
}

impl<R: Read + Seek> Read for Source<R> {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        match &mut self.content {
            Content::Plain(plain) => plain.read(bytes),
            Content::Gzip(gzip) => gzip.read(bytes),
            Content::Archive(entry) => entry.read(bytes),
            Content::Nothing => Ok(0),
        }
    }
}

impl<R: Read + Seek> BufRead for Source<R> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        match &mut self.content {
            Content::Plain(plain) => plain.fill_buf(),
            Content::Gzip(gzip) => gzip.fill_buf(),
            Content::Archive(entry) => entry.fill_buf(),
            Content::Nothing => Ok(&[]),
        }
    }

    fn consume(&mut self, bytes: usize) {
        match &mut self.content {
            Content::Plain(plain) => plain.consume(bytes),
            Content::Gzip(gzip) => gzip.consume(bytes),
            Content::Archive(entry) => entry.consume(bytes),
            Content::Nothing => {}
        }
    }
}

impl<R: Read + Seek> Seek for Source<R> {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        match &mut self.content {
            Content::Plain(plain) => return plain.seek(to),
            Content::Archive(entry) => return entry.seek(to),
            _ => {}
        }
        let SeekFrom::Start(to) = to else {
            return Err(io::Error::new(
                io::ErrorKind::Unsupported,
                "a compressed file can seek only to its start",
            ));
        };
        let Content::Gzip(old) = std::mem::replace(&mut self.content, Content::Nothing) else {
            return Err(io::Error::new(io::ErrorKind::Unsupported, "the file could not be read"));
        };
        let mut reader = old.into_inner().into_inner();
        reader.seek(SeekFrom::Start(0))?;
        let mut new = gzip(reader);
        io::copy(&mut new.by_ref().take(to), &mut io::sink())?;
        self.content = Content::Gzip(Box::new(new));
        Ok(to)
    }

    /// For a compressed file, the position is always 0, because it is requested before anything is
    /// read from the file.
    fn stream_position(&mut self) -> io::Result<u64> {
        match &mut self.content {
            Content::Plain(plain) => plain.stream_position(),
            Content::Archive(entry) => entry.stream_position(),
            Content::Gzip(_) | Content::Nothing => Ok(0),
        }
    }
}
