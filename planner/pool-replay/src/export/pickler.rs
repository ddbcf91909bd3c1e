//! Writes pickles. Only the few opcodes that PyTorch's viewer supports are used, because the viewer
//! has its own unpickler.

use std::collections::HashMap;
use std::io::{self, Write};

/// A pickle that is being written.
#[derive(Debug)]
pub(super) struct Pickler<W> {
    to: W,
    texts: HashMap<String, u32>,
    memoized: u32,
}

impl<W: Write> Pickler<W> {
    /// Begins a pickle of protocol 4, the newest one that the viewer reads.
    pub(super) fn new(mut to: W) -> io::Result<Self> {
        to.write_all(&[0x80, 4])?;
        Ok(Self { to, texts: HashMap::new(), memoized: 0 })
    }

    /// Ends the pickle.
    pub(super) fn stop(mut self) -> io::Result<()> {
        self.to.write_all(b".")?;
        self.to.flush()
    }

    /// Begins a dictionary. Write its keys and values alternately after this call.
    pub(super) fn dict_start(&mut self) -> io::Result<()> {
        self.to.write_all(b"}(")
    }

    /// Ends a dictionary.
    pub(super) fn dict_end(&mut self) -> io::Result<()> {
        self.to.write_all(b"u")
    }

    /// Begins a list. After this call, write each item of the list, followed by
    /// [`append`](Self::append), which keeps the number of arguments of each call in the viewer
    /// small.
    pub(super) fn list_start(&mut self) -> io::Result<()> {
        self.to.write_all(b"]")
    }

    /// Appends the most recently written value to the list before it.
    pub(super) fn append(&mut self) -> io::Result<()> {
        self.to.write_all(b"a")
    }

    /// Converts the two most recently written values to a tuple.
    pub(super) fn pair(&mut self) -> io::Result<()> {
        self.to.write_all(b"\x86")
    }

    /// Writes a text, or fetches it from the memo if it was written before.
    pub(super) fn text(&mut self, text: &str) -> io::Result<()> {
        if let Some(&number) = self.texts.get(text) {
            return self.get(number);
        }
        match u8::try_from(text.len()) {
            Ok(length) => self.to.write_all(&[0x8c, length])?,
            Err(_) => {
                let length = u32::try_from(text.len()).map_err(io::Error::other)?;
                self.to.write_all(b"X")?;
                self.to.write_all(&length.to_le_bytes())?;
            }
        }
        self.to.write_all(text.as_bytes())?;
        let number = self.put()?;
        self.texts.insert(text.to_owned(), number);
        Ok(())
    }

    /// Writes an integer in as few bytes as possible.
    pub(super) fn int(&mut self, number: i128) -> io::Result<()> {
        if let Ok(byte) = u8::try_from(number) {
            return self.to.write_all(&[b'K', byte]);
        }
        if let Ok(number) = i32::try_from(number) {
            self.to.write_all(b"J")?;
            return self.to.write_all(&number.to_le_bytes());
        }
        // A signed 64-bit integer fits in 9 bytes.
        let length = if i64::try_from(number).is_ok() { 8 } else { 9 };
        self.to.write_all(&[0x8a, length])?;
        self.to.write_all(&number.to_le_bytes()[..length.into()])
    }

    /// Memoizes the most recently written value.
    pub(super) fn put(&mut self) -> io::Result<u32> {
        let number = self.memoized;
        self.memoized += 1;
        self.numbered(*b"qr", number)?;
        Ok(number)
    }

    /// Writes a memoized value.
    pub(super) fn get(&mut self, number: u32) -> io::Result<()> {
        self.numbered(*b"hj", number)
    }

    fn numbered(&mut self, [short, long]: [u8; 2], number: u32) -> io::Result<()> {
        if let Ok(number) = u8::try_from(number) {
            return self.to.write_all(&[short, number]);
        }
        self.to.write_all(&[long])?;
        self.to.write_all(&number.to_le_bytes())
    }
}
