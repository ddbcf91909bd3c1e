//! The configuration of a stream: the usages of its buffers, and the adapter and device to open.

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
    /// Returns the default: storage buffers, of any adapter, with the features that the adapter has
    /// for 16-bit and 64-bit elements.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets usages of the blocks in addition to `STORAGE`, `COPY_SRC` and `COPY_DST`, which they
    /// always have.
    pub fn with_usages(mut self, usages: wgpu::BufferUsages) -> Self {
        self.usages |= usages;
        self
    }

    /// Sets features that the device must have, if the stream opens it.
    pub fn with_features(mut self, features: wgpu::Features) -> Self {
        self.features |= features;
        self
    }

    /// Sets the preference among several adapters, if the stream opens one.
    pub fn with_power_preference(mut self, power: wgpu::PowerPreference) -> Self {
        self.power = power;
        self
    }

    /// Selects an adapter that computes on the processor, if the stream opens one.
    pub fn with_fallback_adapter(mut self) -> Self {
        self.wants_fallback = true;
        self
    }

    /// Returns the usages of the blocks.
    pub(crate) fn all_usages(&self) -> wgpu::BufferUsages {
        self.usages
            | wgpu::BufferUsages::STORAGE
            | wgpu::BufferUsages::COPY_SRC
            | wgpu::BufferUsages::COPY_DST
    }
}
