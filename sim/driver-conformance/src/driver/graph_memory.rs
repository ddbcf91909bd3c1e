//! Memory that graphs allocate themselves.

use std::ptr;

use cudarc::driver::sys;

use super::device::Device;
use super::graph::{Graph, Node};
use super::memory::Span;
use super::memory_pool;
use super::refusal::Outcome;

/// A fill of a node: equal elements in rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Memset {
    /// The value of each element.
    pub value: u32,
    /// The bytes of an element: 1, 2 or 4.
    pub size: u32,
    /// The elements of a row.
    pub width: usize,
    /// The number of rows.
    pub height: usize,
    /// The bytes from one row to the next.
    pub pitch: usize,
}

impl Graph {
    /// Adds a node that allocates, and returns its address.
    ///
    /// # Errors
    ///
    /// Returns the driver's error code, here and below.
    pub fn add_allocation(
        &self,
        device: &Device,
        bytes: usize,
        after: &[Node<'_>],
    ) -> Outcome<(Node<'_>, Span)> {
        let mut parameters = sys::CUDA_MEM_ALLOC_NODE_PARAMS {
            poolProps: memory_pool::properties(device, 0),
            accessDescs: ptr::null(),
            accessDescCount: 0,
            bytesize: bytes,
            dptr: 0,
        };
        let after: Vec<_> = after.iter().map(Node::raw).collect();
        let (first, count) = (after.as_ptr(), after.len());
        let mut node = ptr::null_mut();
        let place = &raw mut parameters;
        // SAFETY: the graph and the nodes are live (1); the places outlive the call, and the array
        // has that many entries.
        unsafe { call!(cuGraphAddMemAllocNode(&raw mut node, self.raw(), first, count, place)) }?;
        Ok((self.node(node), Span::new(parameters.dptr, bytes)))
    }

    /// Adds a node that frees another node's allocation.
    ///
    /// # Errors
    ///
    /// Returns the driver's error code.
    pub fn add_free(&self, span: Span, after: &[Node<'_>]) -> Outcome<Node<'_>> {
        let after: Vec<_> = after.iter().map(Node::raw).collect();
        let (first, count) = (after.as_ptr(), after.len());
        let mut node = ptr::null_mut();
        let address = span.address();
        // SAFETY: as in `add_allocation`; the driver refuses an address that is not an allocation
        // (2).
        unsafe { call!(cuGraphAddMemFreeNode(&raw mut node, self.raw(), first, count, address)) }?;
        Ok(self.node(node))
    }

    /// Adds a node that fills a span with one byte.
    ///
    /// # Errors
    ///
    /// Returns the driver's error code.
    pub fn add_fill(
        &self,
        device: &Device,
        span: Span,
        value: u8,
        after: &[Node<'_>],
    ) -> Outcome<Node<'_>> {
        let set = Memset { value: value.into(), ..Memset::row(1, span.bytes()) };
        self.add_memset(device, span, set, after)
    }

    /// Adds a node that sets elements at the beginning of a span.
    ///
    /// # Errors
    ///
    /// Returns the driver's error code.
    ///
    /// # Panics
    ///
    /// Panics if the elements do not fit the span.
    pub fn add_memset(
        &self,
        device: &Device,
        span: Span,
        set: Memset,
        after: &[Node<'_>],
    ) -> Outcome<Node<'_>> {
        assert!(set.extent() <= span.bytes(), "{set:?} in {span:?}");
        let parameters = sys::CUDA_MEMSET_NODE_PARAMS {
            dst: span.address(),
            pitch: set.pitch,
            value: set.value,
            elementSize: set.size,
            width: set.width,
            height: set.height,
        };
        let after: Vec<_> = after.iter().map(Node::raw).collect();
        let (first, count, place) = (after.as_ptr(), after.len(), &raw const parameters);
        let mut node = ptr::null_mut();
        let (graph, context) = (self.raw(), device.context());
        // SAFETY: as in `add_allocation`; the context is retained forever.
        unsafe { call!(cuGraphAddMemsetNode(&raw mut node, graph, first, count, place, context)) }?;
        Ok(self.node(node))
    }
}

impl Memset {
    /// Returns a row of `width` zeros with `size` bytes each.
    #[must_use]
    pub fn row(size: u32, width: usize) -> Self {
        Self { value: 0, size, width, height: 1, pitch: 0 }
    }

    /// Returns the bytes from the first element to the end of the last one.
    fn extent(self) -> usize {
        self.pitch * self.height.saturating_sub(1) + self.width * self.size as usize
    }
}

impl Node<'_> {
    /// Returns the address that it allocates.
    ///
    /// # Errors
    ///
    /// Returns the driver's error code. Not every node allocates.
    pub fn allocated_address(&self, device: &Device) -> Outcome<u64> {
        let mut parameters = sys::CUDA_MEM_ALLOC_NODE_PARAMS {
            poolProps: memory_pool::properties(device, 0),
            accessDescs: ptr::null(),
            accessDescCount: 0,
            bytesize: 0,
            dptr: 0,
        };
        // SAFETY: the node is live with its graph (1); the place outlives the call.
        unsafe { call!(cuGraphMemAllocNodeGetParams(self.raw(), &raw mut parameters)) }?;
        Ok(parameters.dptr)
    }

    /// Returns start and length in bytes of the span that it fills.
    ///
    /// # Errors
    ///
    /// Returns the driver's error code. Not every node fills.
    pub fn filled_span(&self) -> Outcome<(u64, usize)> {
        let mut parameters = sys::CUDA_MEMSET_NODE_PARAMS {
            dst: 0,
            pitch: 0,
            value: 0,
            elementSize: 0,
            width: 0,
            height: 0,
        };
        // SAFETY: the node is live with its graph (1); the place outlives the call.
        unsafe { call!(cuGraphMemsetNodeGetParams(self.raw(), &raw mut parameters)) }?;
        let bytes = parameters.width * parameters.height * parameters.elementSize as usize;
        Ok((parameters.dst, bytes))
    }
}

impl Device {
    /// Returns the bytes that graphs have reserved, in use or not.
    ///
    /// # Errors
    ///
    /// Returns the driver's error code.
    pub fn graph_memory_reserved(&self) -> Outcome<u64> {
        let mut value = 0_u64;
        let name = sys::CUgraphMem_attribute_enum::CU_GRAPH_MEM_ATTR_RESERVED_MEM_CURRENT;
        let place = (&raw mut value).cast();
        // SAFETY: the attribute is 64 bits long, and the place outlives the call.
        unsafe { call!(cuDeviceGetGraphMemAttribute(self.handle(), name, place)) }?;
        Ok(value)
    }

    /// Releases unused memory of graphs.
    ///
    /// # Errors
    ///
    /// Returns the driver's error code.
    pub fn trim_graph_memory(&self) -> Outcome<()> {
        // SAFETY: the device comes from the driver.
        unsafe { call!(cuDeviceGraphMemTrim(self.handle())) }
    }
}
