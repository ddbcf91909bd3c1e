//! Defines compute kernels. A kernel's storage bindings are in group 0, and its parameters are in a
//! uniform buffer in group 1.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use crate::binding::{Access, Binding};
use crate::calls::Calls;
use crate::ending;
use crate::error::WgpuError;

/// The maximum size of one dispatch's parameters, in bytes. Every device can bind uniform buffers
/// of this size at offsets that are multiples of this size.
pub const PARAMETER_BYTES: usize = 256;

/// A compute pipeline that [`Stream::kernel`](crate::Stream::kernel) has compiled from WGSL for one
/// stream. Clones refer to the same kernel.
#[derive(Clone, Debug)]
pub struct Kernel(Arc<KernelParts>);

#[derive(Debug)]
struct KernelParts {
    /// A number that identifies the kernel within the process.
    number: u64,
    entry: String,
    stream: u64,
    pipeline: wgpu::ComputePipeline,
    layout: Arc<BindingLayout>,
    /// `true` if the kernel is one of the stream's own kernels.
    is_own: bool,
}

impl Drop for KernelParts {
    fn drop(&mut self) {
        if ending::is_ending() {
            ending::leave((self.pipeline.clone(), Arc::clone(&self.layout)));
        }
    }
}

/// The layout of a kernel's storage bindings. Kernels with the same kinds of access share a layout,
/// so they can also share bind groups.
#[derive(Debug)]
struct BindingLayout {
    number: u64,
    accesses: Box<[Access]>,
    layout: wgpu::BindGroupLayout,
}

impl Kernel {
    /// Returns how the kernel accesses each binding in group 0.
    #[must_use]
    pub fn accesses(&self) -> &[Access] {
        &self.0.layout.accesses
    }

    /// Returns the name of the kernel's entry point.
    #[must_use]
    pub fn entry(&self) -> &str {
        &self.0.entry
    }

    /// Returns `true` if the kernel is one of the stream's own kernels. The stream's own kernels
    /// can be used with any bind group that has their layout.
    #[inline]
    pub(crate) fn is_own(&self) -> bool {
        self.0.is_own
    }

    pub(crate) fn pipeline(&self) -> &wgpu::ComputePipeline {
        &self.0.pipeline
    }

    /// Returns a number that identifies the kernel within the process.
    #[inline]
    pub(crate) fn number(&self) -> u64 {
        self.0.number
    }

    /// Returns the layout of the kernel's bindings and the layout's ID, which is unique within the
    /// process.
    #[inline]
    pub(crate) fn layout(&self) -> (u64, &wgpu::BindGroupLayout) {
        (self.0.layout.number, &self.0.layout.layout)
    }

    /// Checks that the given bindings match those that the kernel declares, and that their memory
    /// belongs to the kernel's stream.
    ///
    /// # Errors
    ///
    /// Returns [`WgpuError::BindingCount`], [`WgpuError::ReadOnlyBinding`],
    /// [`WgpuError::OtherStream`], [`WgpuError::OtherKernel`], or [`WgpuError::SharedBuffer`] if a
    /// check fails.
    #[inline]
    pub(crate) fn check(&self, stream: u64, bindings: &[Binding<'_>]) -> Result<(), WgpuError> {
        let accesses = self.accesses();
        if self.0.stream != stream {
            return Err(WgpuError::OtherKernel { kernel: self.0.entry.clone() });
        }
        if bindings.len() != accesses.len() {
            return Err(WgpuError::BindingCount {
                kernel: self.0.entry.clone(),
                declared: accesses.len(),
                given: bindings.len(),
            });
        }
        for (second, (binding, access)) in bindings.iter().zip(accesses).enumerate() {
            if binding.allocation.stream != stream {
                return Err(WgpuError::OtherStream);
            }
            let writes = *access == Access::ReadWrite;
            if writes && binding.access == Access::Read {
                let kernel = self.0.entry.clone();
                return Err(WgpuError::ReadOnlyBinding { kernel, binding: second });
            }
            for first in 0..second {
                if clashes((&bindings[first], accesses[first]), (binding, *access)) {
                    let kernel = self.0.entry.clone();
                    return Err(WgpuError::SharedBuffer { kernel, first, second });
                }
            }
        }
        Ok(())
    }
}

/// Returns `true` if a single dispatch cannot use both bindings. Two bindings conflict if they
/// refer to the same buffer and at least one of them is written. If both are written, they conflict
/// only if they overlap.
#[inline]
fn clashes(first: (&Binding<'_>, Access), second: (&Binding<'_>, Access)) -> bool {
    let ((first, first_access), (second, second_access)) = (first, second);
    if first.allocation.identity != second.allocation.identity {
        return false;
    }
    match (first_access, second_access) {
        (Access::Read, Access::Read) => false,
        (Access::ReadWrite, Access::ReadWrite) => {
            first.offset < second.offset + second.bytes
                && second.offset < first.offset + first.bytes
        }
        _ => true,
    }
}

/// The compiler for a stream's kernels, which also caches layouts.
#[derive(Debug)]
pub(crate) struct Compiler {
    stream: u64,
    /// The maximum number of storage bindings in one kernel.
    limit: usize,
    parameters: wgpu::BindGroupLayout,
    layouts: Mutex<HashMap<Box<[Access]>, Arc<BindingLayout>>>,
}

impl Compiler {
    /// Creates the compiler for the stream with the given ID.
    ///
    /// # Errors
    ///
    /// Returns [`WgpuError::Refused`] if the device does not support the layout of the parameters.
    pub(crate) fn new(calls: &Calls, stream: u64) -> Result<Self, WgpuError> {
        let entry = wgpu::BindGroupLayoutEntry {
            binding: 0,
            visibility: wgpu::ShaderStages::COMPUTE,
            ty: wgpu::BindingType::Buffer {
                ty: wgpu::BufferBindingType::Uniform,
                has_dynamic_offset: true,
                // wgpu rejects a kernel whose parameters exceed this minimum binding size.
                min_binding_size: wgpu::BufferSize::new(PARAMETER_BYTES as u64),
            },
            count: None,
        };
        let parameters = calls
            .scoped(|| create_layout(calls, "pool-wgpu parameters", &[entry]))
            .map_err(|error| WgpuError::refused(&error))?;
        let limit = calls.device.limits().max_storage_buffers_per_shader_stage as usize;
        Ok(Self { stream, limit, parameters, layouts: Mutex::default() })
    }

    /// Returns the layout of the bind group that contains the parameters.
    pub(crate) fn parameters(&self) -> &wgpu::BindGroupLayout {
        &self.parameters
    }

    /// Compiles an entry point in a WGSL source.
    ///
    /// # Errors
    ///
    /// Returns [`WgpuError::Compilation`] if the source does not compile, or
    /// [`WgpuError::DeviceLost`] if the device is lost. Returns [`WgpuError::TooManyBindings`] if
    /// there are more accesses than the device supports.
    pub(crate) fn compile(
        &self,
        calls: &Calls,
        source: &str,
        entry: &str,
        accesses: &[Access],
    ) -> Result<Kernel, WgpuError> {
        calls.check()?;
        let declared = accesses.len();
        if declared > self.limit {
            let kernel = entry.to_owned();
            return Err(WgpuError::TooManyBindings { kernel, declared, limit: self.limit });
        }
        let compiled = calls.scoped(|| {
            let layout = self.layout(calls, accesses);
            let pipeline = self.create_pipeline(calls, &layout, source, entry);
            (layout, pipeline)
        });
        calls.find_loss()?;
        let (layout, pipeline) = compiled.map_err(|error| WgpuError::Compilation {
            kernel: entry.to_owned(),
            message: error.to_string(),
        })?;
        self.keep(&layout);
        let (number, entry) = (next_number(), entry.to_owned());
        let (stream, is_own) = (self.stream, false);
        Ok(Kernel(Arc::new(KernelParts { number, entry, stream, pipeline, layout, is_own })))
    }

    /// Compiles one of the stream's own kernels. The arrays declared by these kernels have no
    /// minimum size.
    ///
    /// # Errors
    ///
    /// Returns the same errors as [`compile`](Self::compile).
    pub(crate) fn compile_own(
        &self,
        calls: &Calls,
        source: &str,
        accesses: &[Access],
    ) -> Result<Kernel, WgpuError> {
        let mut kernel = self.compile(calls, source, "main", accesses)?;
        // No other reference to the new kernel exists.
        if let Some(parts) = Arc::get_mut(&mut kernel.0) {
            parts.is_own = true;
        }
        Ok(kernel)
    }

    fn create_pipeline(
        &self,
        calls: &Calls,
        layout: &BindingLayout,
        source: &str,
        entry: &str,
    ) -> wgpu::ComputePipeline {
        let module = calls.device.create_shader_module(wgpu::ShaderModuleDescriptor {
            label: Some(entry),
            source: wgpu::ShaderSource::Wgsl(source.into()),
        });
        let layout = calls.device.create_pipeline_layout(&wgpu::PipelineLayoutDescriptor {
            label: Some(entry),
            bind_group_layouts: &[Some(&layout.layout), Some(&self.parameters)],
            immediate_size: 0,
        });
        calls.device.create_compute_pipeline(&wgpu::ComputePipelineDescriptor {
            label: Some(entry),
            layout: Some(&layout),
            module: &module,
            entry_point: Some(entry),
            compilation_options: wgpu::PipelineCompilationOptions::default(),
            cache: None,
        })
    }

    /// Returns the layout for these accesses from the cache, or creates one.
    fn layout(&self, calls: &Calls, accesses: &[Access]) -> Arc<BindingLayout> {
        let kept =
            self.layouts.lock().unwrap_or_else(PoisonError::into_inner).get(accesses).cloned();
        // The lock is not held while a layout is created, because wgpu might run user code.
        kept.unwrap_or_else(|| {
            let entries: Vec<_> =
                (0..).zip(accesses).map(|(at, access)| storage(at, *access)).collect();
            let layout = create_layout(calls, "pool-wgpu bindings", &entries);
            Arc::new(BindingLayout { number: next_number(), accesses: accesses.into(), layout })
        })
    }

    /// Stores a layout in the cache unless another thread has already stored one for the same
    /// accesses.
    fn keep(&self, layout: &Arc<BindingLayout>) {
        let mut layouts = self.layouts.lock().unwrap_or_else(PoisonError::into_inner);
        layouts.entry(layout.accesses.clone()).or_insert_with(|| Arc::clone(layout));
    }
}

/// Returns a number that is unique within the process.
fn next_number() -> u64 {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    NEXT.fetch_add(1, Ordering::Relaxed)
}

fn storage(binding: u32, access: Access) -> wgpu::BindGroupLayoutEntry {
    wgpu::BindGroupLayoutEntry {
        binding,
        visibility: wgpu::ShaderStages::COMPUTE,
        ty: wgpu::BindingType::Buffer {
            ty: wgpu::BufferBindingType::Storage { read_only: access == Access::Read },
            has_dynamic_offset: false,
            min_binding_size: None,
        },
        count: None,
    }
}

fn create_layout(
    calls: &Calls,
    label: &str,
    entries: &[wgpu::BindGroupLayoutEntry],
) -> wgpu::BindGroupLayout {
    let descriptor = wgpu::BindGroupLayoutDescriptor { label: Some(label), entries };
    calls.device.create_bind_group_layout(&descriptor)
}
