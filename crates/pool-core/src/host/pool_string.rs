//! Defines a string type with an allocator parameter. The type wraps a `Vec<u8, A>` just as
//! `String` wraps a `Vec<u8>`. The `allocator-api2` crate contains no string type.

use core::borrow::Borrow;
use core::cmp::Ordering;
use core::fmt;
use core::hash::{Hash, Hasher};
use core::ops::{Deref, DerefMut};
use core::str::{self, Utf8Error};

use allocator_api2::alloc::Allocator;
use allocator_api2::vec::Vec;

/// A growable string that uses the allocator `A`. The allocator is usually a `&ScopeAllocator`, so
/// the text is usually stored in a scope.
///
/// A `PoolString` wraps a `Vec<u8, A>` of valid UTF-8 and dereferences to `str`. The `write!` macro
/// appends to the string and returns an error if the pool refuses to allocate memory. All other
/// methods abort the process if memory cannot be allocated, as `Vec`'s methods do. A `PoolString`
/// is hashed and compared like a `str`, so a map with `PoolString` keys can be searched with a
/// `&str`.
///
/// The type uses the allocator rather than [`PoolVec`](crate::PoolVec), so that many short strings
/// can share a chunk. Each [`PoolVec`](crate::PoolVec) would use its own slot. For text that does
/// not change, copy the bytes with [`acquire_from`](crate::Scope::acquire_from) instead of creating
/// a string.
///
/// ```
/// # use pool_conformance::HeapBackend as Memory;
/// # let mut pool = pool_core::Pool::<Memory>::new(Default::default());
/// use std::fmt::Write;
///
/// use hashbrown::{DefaultHashBuilder, HashMap};
/// use pool_core::PoolString;
///
/// let scope = pool.scope();
/// let memory = scope.allocator();
/// let mut sizes = HashMap::with_hasher_in(DefaultHashBuilder::default(), &memory);
/// for n in 1..4 {
///     let mut name = PoolString::new_in(&memory);
///     write!(name, "layer {n}").unwrap();
///     sizes.insert(name, 64 * n);
/// }
/// assert_eq!(sizes["layer 2"], 128);
/// ```
#[derive(Clone)]
pub struct PoolString<A: Allocator> {
    /// The bytes of the string, which are always valid UTF-8.
    bytes: Vec<u8, A>,
}

impl<A: Allocator> PoolString<A> {
    /// Creates an empty string without allocating memory.
    #[inline]
    #[must_use]
    pub const fn new_in(allocator: A) -> Self {
        Self { bytes: Vec::new_in(allocator) }
    }

    /// Creates a string that contains a copy of `text`.
    #[must_use]
    pub fn from_str_in(text: &str, allocator: A) -> Self {
        let mut bytes = Vec::with_capacity_in(text.len(), allocator);
        bytes.extend_from_slice(text.as_bytes());
        Self { bytes }
    }

    /// Converts bytes into a string without moving them.
    ///
    /// # Errors
    ///
    /// If the bytes are not valid UTF-8, the method drops them and returns an error that contains
    /// the position of the first invalid byte.
    pub fn from_utf8(bytes: Vec<u8, A>) -> Result<Self, Utf8Error> {
        str::from_utf8(&bytes)?;
        Ok(Self { bytes })
    }

    /// Appends a character.
    #[inline]
    pub fn push(&mut self, character: char) {
        self.push_str(character.encode_utf8(&mut [0; 4]));
    }

    /// Appends text.
    #[inline]
    pub fn push_str(&mut self, text: &str) {
        self.bytes.extend_from_slice(text.as_bytes());
    }

    /// Removes the last character and returns it.
    pub fn pop(&mut self) -> Option<char> {
        let last = self.chars().next_back()?;
        self.bytes.truncate(self.bytes.len() - last.len_utf8());
        Some(last)
    }

    /// Shortens the string to its first `length` bytes. If the string has at most `length` bytes,
    /// the method removes nothing.
    ///
    /// # Panics
    ///
    /// Panics if `length` is not on a character boundary.
    #[track_caller]
    pub fn truncate(&mut self, length: usize) {
        assert!(
            length >= self.len() || self.is_char_boundary(length),
            "cannot truncate to {length} bytes: the new end would be inside a character"
        );
        self.bytes.truncate(length);
    }

    /// Removes all text but retains the string's memory.
    #[inline]
    pub fn clear(&mut self) {
        self.bytes.clear();
    }

    /// Returns the number of bytes that the string can hold without growing.
    #[inline]
    #[must_use]
    pub fn capacity(&self) -> usize {
        self.bytes.capacity()
    }

    /// Reserves memory for at least `additional` more bytes.
    #[inline]
    pub fn reserve(&mut self, additional: usize) {
        self.bytes.reserve(additional);
    }

    /// Converts the string into its bytes without moving them. Use this method to call the vector's
    /// fallible methods, such as `try_reserve`.
    #[inline]
    #[must_use]
    pub fn into_bytes(self) -> Vec<u8, A> {
        self.bytes
    }

    /// Returns the text without copying it. The text remains valid for as long as the allocator's
    /// memory does.
    #[inline]
    #[must_use]
    pub fn leak<'a>(self) -> &'a mut str
    where
        A: 'a,
    {
        let bytes = self.bytes.leak();
        // SAFETY: the bytes of a string are always valid UTF-8.
        unsafe { str::from_utf8_unchecked_mut(bytes) }
    }
}

impl<A: Allocator> Deref for PoolString<A> {
    type Target = str;

    #[inline]
    fn deref(&self) -> &str {
        // SAFETY: the bytes of a string are always valid UTF-8.
        unsafe { str::from_utf8_unchecked(&self.bytes) }
    }
}

impl<A: Allocator> DerefMut for PoolString<A> {
    #[inline]
    fn deref_mut(&mut self) -> &mut str {
        // SAFETY: the bytes of a string are valid UTF-8, and `str`'s methods preserve this
        // property.
        unsafe { str::from_utf8_unchecked_mut(&mut self.bytes) }
    }
}

/// A write fails if the allocator refuses to allocate memory. Text that was written before the
/// failure remains in the string.
impl<A: Allocator> fmt::Write for PoolString<A> {
    #[inline]
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.bytes.try_reserve(text.len()).map_err(|_| fmt::Error)?;
        self.push_str(text);
        Ok(())
    }
}

impl<A: Allocator> Extend<char> for PoolString<A> {
    fn extend<I: IntoIterator<Item = char>>(&mut self, characters: I) {
        characters.into_iter().for_each(|character| self.push(character));
    }
}

impl<'t, A: Allocator> Extend<&'t str> for PoolString<A> {
    fn extend<I: IntoIterator<Item = &'t str>>(&mut self, texts: I) {
        texts.into_iter().for_each(|text| self.push_str(text));
    }
}

impl<A: Allocator> Borrow<str> for PoolString<A> {
    fn borrow(&self) -> &str {
        self
    }
}

impl<A: Allocator> AsRef<str> for PoolString<A> {
    fn as_ref(&self) -> &str {
        self
    }
}

impl<A: Allocator> PartialEq for PoolString<A> {
    fn eq(&self, other: &Self) -> bool {
        **self == **other
    }
}

impl<A: Allocator> Eq for PoolString<A> {}

impl<A: Allocator> PartialEq<str> for PoolString<A> {
    fn eq(&self, other: &str) -> bool {
        **self == *other
    }
}

impl<A: Allocator> PartialEq<&str> for PoolString<A> {
    fn eq(&self, other: &&str) -> bool {
        **self == **other
    }
}

impl<A: Allocator> PartialOrd for PoolString<A> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<A: Allocator> Ord for PoolString<A> {
    fn cmp(&self, other: &Self) -> Ordering {
        (**self).cmp(other)
    }
}

/// The string and the corresponding `str` have the same hash, as [`Borrow`] requires.
impl<A: Allocator> Hash for PoolString<A> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        (**self).hash(state);
    }
}

impl<A: Allocator> fmt::Display for PoolString<A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&**self, f)
    }
}

impl<A: Allocator> fmt::Debug for PoolString<A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&**self, f)
    }
}
