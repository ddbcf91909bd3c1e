//! Records kernel dispatches, including their bindings and parameters.

use super::Recorder;
use super::batch::OpenPass;
use crate::bind_groups::KeptGroup;
use crate::binding::Binding;
use crate::error::WgpuError;
use crate::kernel::{Kernel, PARAMETER_BYTES};
use crate::parameters::Parameters;
use crate::setup::Setup;

impl Recorder<'_> {
    /// Records a dispatch that runs after all earlier commands.
    ///
    /// # Errors
    ///
    /// Returns the same errors as [`Stream::dispatch`](crate::Stream::dispatch).
    pub(crate) fn dispatch(
        &mut self,
        kernel: &Kernel,
        bindings: &[Binding<'_>],
        parameters: &[u8],
        groups: [u32; 3],
    ) -> Result<(), WgpuError> {
        kernel.check(self.setup.number, bindings)?;
        check_sizes(self.setup, parameters, groups)?;
        for binding in bindings {
            self.check_block(binding.allocation)?;
        }
        self.make_room()?;
        let Self { setup, recording } = self;
        let (number, layout) = kernel.layout();
        let ranges = bindings.iter().map(Binding::range_key);
        let found = recording.bind_groups.find(number, ranges, || bind(setup, layout, bindings));
        let kept = match found {
            Ok(kept) => kept,
            Err(error) => return Err(self.name_destroyed(bindings, error)),
        };
        let batch = &mut recording.batch;
        let set = batch.pass.as_ref().map(|open| (open.kernel, open.group));
        if set != Some((Some(kernel.number()), Some(kept.number))) {
            try_together(setup, &recording.parameters, kernel, kept)?;
        }
        batch.count();
        if batch.pass.is_none() {
            let descriptor = wgpu::ComputePassDescriptor::default();
            let mut pass = batch.encoder(setup).begin_compute_pass(&descriptor).forget_lifetime();
            pass.set_bind_group(1, &recording.parameters.group, &[0]);
            batch.pass = Some(OpenPass { pass, kernel: None, group: None, parameters: 0 });
        }
        let Some(open) = &mut batch.pass else { return Ok(()) };
        if open.kernel != Some(kernel.number()) {
            open.pass.set_pipeline(kernel.pipeline());
            open.kernel = Some(kernel.number());
            open.group = None;
        }
        if open.group != Some(kept.number) {
            open.pass.set_bind_group(0, kept.group.as_ref(), &[]);
            open.group = Some(kept.number);
        }
        let offset = batch.parameters.push(parameters);
        if open.parameters != offset {
            open.pass.set_bind_group(1, &recording.parameters.group, &[offset]);
            open.parameters = offset;
        }
        let [x, y, z] = groups;
        open.pass.dispatch_workgroups(x, y, z);
        setup.counters.dispatches.step();
        Ok(())
    }

    /// Returns the error that explains why a bind group could not be created. If the user has
    /// destroyed a bound buffer, the error identifies this buffer.
    #[cold]
    fn name_destroyed(&self, bindings: &[Binding<'_>], error: WgpuError) -> WgpuError {
        if !matches!(error, WgpuError::Refused { .. }) {
            return error;
        }
        let destroyed =
            bindings.iter().find_map(|binding| self.try_block(binding.allocation).err());
        destroyed.unwrap_or(error)
    }
}

/// Validates a kernel with a bind group in a separate encoder before the two are first used
/// together. In the batch's encoder, wgpu would report a mistake only at submission, and would then
/// reject the whole batch.
#[inline]
fn try_together(
    setup: &Setup,
    parameters: &Parameters,
    kernel: &Kernel,
    kept: &mut KeptGroup,
) -> Result<(), WgpuError> {
    if kernel.is_own() || kept.is_tried(kernel.number()) {
        return Ok(());
    }
    setup.calls.accepted(|| {
        let mut encoder = setup.calls.device.create_command_encoder(&Default::default());
        let mut pass = encoder.begin_compute_pass(&Default::default());
        pass.set_pipeline(kernel.pipeline());
        pass.set_bind_group(0, kept.group.as_ref(), &[]);
        pass.set_bind_group(1, &parameters.group, &[0]);
        pass.dispatch_workgroups(0, 0, 0);
        drop(pass);
        drop(encoder.finish());
    })?;
    kept.note_tried(kernel.number());
    Ok(())
}

#[inline]
fn check_sizes(setup: &Setup, parameters: &[u8], groups: [u32; 3]) -> Result<(), WgpuError> {
    if parameters.len() > PARAMETER_BYTES {
        let bytes = parameters.len();
        return Err(WgpuError::TooManyParameters { bytes, limit: PARAMETER_BYTES });
    }
    let limit = setup.limits.groups;
    match groups.iter().position(|groups| *groups > limit) {
        Some(axis) => Err(WgpuError::TooManyGroups { axis, groups: groups[axis], limit }),
        None => Ok(()),
    }
}

#[cold]
fn bind(
    setup: &Setup,
    layout: &wgpu::BindGroupLayout,
    bindings: &[Binding<'_>],
) -> Result<wgpu::BindGroup, WgpuError> {
    let entries: Vec<_> = (0..)
        .zip(bindings)
        .map(|(number, binding)| wgpu::BindGroupEntry {
            binding: number,
            resource: binding.resource(),
        })
        .collect();
    let descriptor =
        wgpu::BindGroupDescriptor { label: Some("pool-wgpu bindings"), layout, entries: &entries };
    let group = setup.calls.scoped(|| setup.calls.device.create_bind_group(&descriptor));
    setup.calls.find_loss()?;
    setup.counters.bind_groups_created.step();
    group.map_err(|error| WgpuError::refused(&error))
}
