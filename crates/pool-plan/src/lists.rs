//! Reads the lists in a file, up to the planner's limits. Entries beyond a limit are counted but
//! not stored, so a file that is too large is rejected before it uses much memory.

use std::fmt;
use std::marker::PhantomData;

use serde::de::{Error, IgnoredAny, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};

use crate::error::PlanError;
use crate::limits::{MOST_EDGES, MOST_GRAPH_BUFFERS, MOST_SPANS};

/// Reads a graph's edges.
pub(crate) fn edges<'de, D, T>(from: D) -> Result<Vec<T>, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de>,
{
    list(from, "edges", MOST_EDGES)
}

/// Reads a graph's buffers.
pub(crate) fn graph_buffers<'de, D, T>(from: D) -> Result<Vec<T>, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de>,
{
    list(from, "buffers", MOST_GRAPH_BUFFERS)
}

/// Reads the streams of a graph's operations.
#[cfg(feature = "record")]
pub(crate) fn streams<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<u32>, D::Error> {
    list(from, "streams", MOST_EDGES)
}

/// Reads a buffer's free markers.
pub(crate) fn markers<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<usize>, D::Error> {
    list(from, "free markers", MOST_EDGES)
}

/// Reads an interval problem's buffers.
pub(crate) fn buffers<'de, D, T>(from: D) -> Result<Vec<T>, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de>,
{
    list(from, "buffers and gaps", MOST_SPANS)
}

/// Reads a buffer's gaps.
pub(crate) fn gaps<'de, D, T>(from: D) -> Result<Vec<T>, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de>,
{
    list(from, "buffers and gaps", MOST_SPANS)
}

fn list<'de, D, T>(from: D, what: &'static str, limit: usize) -> Result<Vec<T>, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de>,
{
    from.deserialize_seq(List { what, limit, items: PhantomData })
}

/// A visitor that reads a list.
struct List<T> {
    what: &'static str,
    limit: usize,
    items: PhantomData<T>,
}

impl<'de, T: Deserialize<'de>> Visitor<'de> for List<T> {
    type Value = Vec<T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a list of at most {} {}", self.limit, self.what)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut from: A) -> Result<Vec<T>, A::Error> {
        let Self { what, limit, .. } = self;
        let mut items = Vec::new();
        while items.len() < limit {
            match from.next_element()? {
                Some(item) => items.push(item),
                None => return Ok(items),
            }
        }
        let mut count = limit;
        while from.next_element::<IgnoredAny>()?.is_some() {
            count += 1;
        }
        let too_many = PlanError::TooMany { what, count, limit };
        if count > limit { Err(A::Error::custom(too_many)) } else { Ok(items) }
    }
}
