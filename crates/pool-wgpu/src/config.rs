//! Configures a stream, including the usages of its buffers and the adapter and device to open.

/// The configuration of a [`Stream`](crate::Stream).
///
/// ```no_run
/// use pool_wgpu::{Stream, StreamConfig, wgpu};
///
/// let config = StreamConfig::new()
///     .with_usages(wgpu::BufferUsages::VERTEX | wgpu::BufferUsages::INDIRECT)
///     .with_features(wgpu::Features::SHADER_F64);
/// let stream = Stream::open_with_config(&config)?;
/// # Ok::<(), pool_wgpu::WgpuError>(())
/// ```
#[derive(Clone, Debug)]
#[must_use = "a configuration does nothing until a stream is made with it"]
pub struct StreamConfig {
    pub(crate) usages: wgpu::BufferUsages,
    pub(crate) features: wgpu::Features,
    pub(crate) power: wgpu::PowerPreference,
    pub(crate) wants_fallback: bool,
}

impl Default for StreamConfig {
    fn default() -> Self {
        Self {
            usages: wgpu::BufferUsages::empty(),
            features: wgpu::Features::empty(),
            power: wgpu::PowerPreference::default(),
            wants_fallback: false,
        }
    }
}

impl StreamConfig {
    /// Creates a configuration with the default values. With this configuration, a stream uses its
    /// buffers for storage and copies, opens any adapter, and enables the adapter's features for
    /// 16-bit and 64-bit elements.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds usages to the buffers that the stream creates for blocks. The `STORAGE`, `COPY_SRC`,
    /// and `COPY_DST` usages are always included.
    pub fn with_usages(mut self, usages: wgpu::BufferUsages) -> Self {
        self.usages |= usages;
        self
    }

    /// Sets the features that the opened device must support.
    pub fn with_features(mut self, features: wgpu::Features) -> Self {
        self.features |= features;
        self
    }

    /// Sets the preferred kind of adapter.
    pub fn with_power_preference(mut self, power: wgpu::PowerPreference) -> Self {
        self.power = power;
        self
    }

    /// Makes the stream open an adapter that runs on the CPU.
    pub fn with_fallback_adapter(mut self) -> Self {
        self.wants_fallback = true;
        self
    }

    /// Returns all usages of the buffers that the stream creates for blocks.
    pub(crate) fn all_usages(&self) -> wgpu::BufferUsages {
        self.usages
            | wgpu::BufferUsages::STORAGE
            | wgpu::BufferUsages::COPY_SRC
            | wgpu::BufferUsages::COPY_DST
    }
}
