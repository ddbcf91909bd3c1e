//! Dispatches: a kernel, its bindings, its parameters.

use super::{OpenPass, Recorder, open};
use crate::binding::Binding;
use crate::error::WgpuError;
use crate::kernel::{Kernel, PARAMETER_BYTES};
use crate::setup::Setup;

impl Recorder<'_> {
    /// Records a dispatch behind everything that was recorded before.
    ///
    /// # Errors
    ///
    /// Those of [`Stream::dispatch`](crate::Stream::dispatch).
    pub(crate) fn dispatch(
        &mut self,
        kernel: &Kernel,
        bindings: &[Binding<'_>],
        parameters: &[u8],
        groups: [u32; 3],
    ) -> Result<(), WgpuError> {
        kernel.check(self.setup.number, bindings)?;
        check_sizes(self.setup, parameters, groups)?;
        self.make_room()?;
        let Self { setup, recording } = self;
        let (number, layout) = kernel.layout();
        let kept =
            recording.bind_groups.find(number, bindings, || bind(setup, layout, bindings))?;
        let open_pass = match &mut recording.pass {
            Some(pass) => pass,
            none => {
                let encoder = open(setup, &mut recording.encoder);
                let descriptor = wgpu::ComputePassDescriptor::default();
                let mut pass = encoder.begin_compute_pass(&descriptor).forget_lifetime();
                pass.set_bind_group(1, &recording.parameters.group, &[0]);
                none.insert(OpenPass { pass, kernel: None, group: None })
            }
        };
        if open_pass.kernel != Some(kernel.number()) {
            open_pass.pass.set_pipeline(kernel.pipeline());
            open_pass.kernel = Some(kernel.number());
            open_pass.group = None;
        }
        if open_pass.group != Some(kept.number) {
            open_pass.pass.set_bind_group(0, &kept.group, &[]);
            open_pass.group = Some(kept.number);
        }
        if !parameters.is_empty() {
            let offset = recording.parameters.push(parameters);
            open_pass.pass.set_bind_group(1, &recording.parameters.group, &[offset]);
        }
        let [x, y, z] = groups;
        open_pass.pass.dispatch_workgroups(x, y, z);
        setup.counters.dispatches.step();
        Ok(())
    }
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
        .map(|(binding, part)| wgpu::BindGroupEntry { binding, resource: part.resource() })
        .collect();
    let descriptor =
        wgpu::BindGroupDescriptor { label: Some("pool-wgpu bindings"), layout, entries: &entries };
    let group = setup.calls.scoped(|| setup.calls.device.create_bind_group(&descriptor));
    setup.calls.find_loss()?;
    setup.counters.bind_groups_created.step();
    group.map_err(|error| WgpuError::refused(&error))
}
