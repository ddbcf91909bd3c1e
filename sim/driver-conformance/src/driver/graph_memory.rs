//! Memory that graphs allocate for themselves.

use std::ptr;

use cudarc::driver::sys;

use super::device::Device;
use super::graph::{Graph, Node};
use super::memory::Span;
use super::memory_pool;
use super::refusal::Outcome;

/// The parameters of a fill node: rows of identical elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Memset {
    /// The value of each element.
    pub value: u32,
    /// The size of an element in bytes: 1, 2 or 4.
    pub size: u32,
    /// The number of elements in a row.
    pub width: usize,
    /// The number of rows.
    pub height: usize,
    /// The distance between two rows in bytes.
    pub pitch: usize,
}

impl Graph {
    /// Adds a node that allocates memory, and returns the address.
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
        // SAFETY: the graph and the nodes are live (1).
        // The output variables outlive the call, and the array has the stated number of entries.
        unsafe { call!(cuGraphAddMemAllocNode(&raw mut node, self.raw(), first, count, place)) }?;
        Ok((self.node(node), Span::new(parameters.dptr, bytes)))
    }

    /// Adds a node that frees memory allocated by another node.
    ///
    /// # Errors
    ///
    /// Returns the driver's error code.
    pub fn add_free(&self, span: Span, after: &[Node<'_>]) -> Outcome<Node<'_>> {
        let after: Vec<_> = after.iter().map(Node::raw).collect();
        let (first, count) = (after.as_ptr(), after.len());
        let mut node = ptr::null_mut();
        let address = span.address();
        // SAFETY: the graph and the nodes are live (1).
        // The array has the stated number of entries.
        // The driver refuses an address that is not an allocation (2).
        unsafe { call!(cuGraphAddMemFreeNode(&raw mut node, self.raw(), first, count, address)) }?;
        Ok(self.node(node))
    }

    /// Adds a node that fills a span with a byte.
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
        // SAFETY: the graph and the nodes are live (1).
        // The parameters outlive the call, and the array has the stated number of entries.
        // The context is never released.
        unsafe { call!(cuGraphAddMemsetNode(&raw mut node, graph, first, count, place, context)) }?;
        Ok(self.node(node))
    }
}

impl Memset {
    /// Returns a row of `width` elements, each `size` bytes long and 0.
    #[must_use]
    pub fn row(size: u32, width: usize) -> Self {
        Self { value: 0, size, width, height: 1, pitch: 0 }
    }

    /// Returns the number of bytes from the first element to the end of the last one.
    fn extent(self) -> usize {
        self.pitch * self.height.saturating_sub(1) + self.width * self.size as usize
    }
}

impl Node<'_> {
    /// Returns the address that this node allocates.
    ///
    /// # Errors
    ///
    /// Returns the driver's error code, for example if the node does not allocate.
    pub fn allocated_address(&self, device: &Device) -> Outcome<u64> {
        let mut parameters = sys::CUDA_MEM_ALLOC_NODE_PARAMS {
            poolProps: memory_pool::properties(device, 0),
            accessDescs: ptr::null(),
            accessDescCount: 0,
            bytesize: 0,
            dptr: 0,
        };
        // SAFETY: the node and its graph are live (1).
        // The output variable outlives the call.
        unsafe { call!(cuGraphMemAllocNodeGetParams(self.raw(), &raw mut parameters)) }?;
        Ok(parameters.dptr)
    }

    /// Returns the start of the span that this node fills, and its length in bytes.
    ///
    /// # Errors
    ///
    /// Returns the driver's error code, for example if the node is not a fill.
    pub fn filled_span(&self) -> Outcome<(u64, usize)> {
        let mut parameters = sys::CUDA_MEMSET_NODE_PARAMS {
            dst: 0,
            pitch: 0,
            value: 0,
            elementSize: 0,
            width: 0,
            height: 0,
        };
        // SAFETY: the node and its graph are live (1).
        // The output variable outlives the call.
        unsafe { call!(cuGraphMemsetNodeGetParams(self.raw(), &raw mut parameters)) }?;
        let bytes = parameters.width * parameters.height * parameters.elementSize as usize;
        Ok((parameters.dst, bytes))
    }
}

impl Device {
    /// Returns the number of bytes that are reserved for graphs, whether they are in use or not.
    ///
    /// # Errors
    ///
    /// Returns the driver's error code.
    pub fn graph_memory_reserved(&self) -> Outcome<u64> {
        let mut value = 0_u64;
        let name = sys::CUgraphMem_attribute_enum::CU_GRAPH_MEM_ATTR_RESERVED_MEM_CURRENT;
        let place = (&raw mut value).cast();
        // SAFETY: the attribute has 64 bits, and the output variable outlives the call.
        unsafe { call!(cuDeviceGetGraphMemAttribute(self.handle(), name, place)) }?;
        Ok(value)
    }

    /// Releases memory that is reserved for graphs but not in use.
    ///
    /// # Errors
    ///
    /// Returns the driver's error code.
    pub fn trim_graph_memory(&self) -> Outcome<()> {
        // SAFETY: the driver returned the device.
        unsafe { call!(cuDeviceGraphMemTrim(self.handle())) }
    }
}
