//! Kernel output stays in a buffer of the device until the host waits for the kernels.

use super::World;

impl World {
    /// Shows the output of kernels on a device.
    pub(crate) fn show_printed(&mut self, device: usize) {
        let printed = self.devices[device].printed.take();
        if !printed.is_empty() {
            let texts: Vec<&[u8]> = printed.iter().map(|one| one.text.as_slice()).collect();
            self.host.print(&texts.concat());
        }
    }

    /// Shows the output of kernels on all devices.
    pub(crate) fn show_all_printed(&mut self) {
        (0..self.devices.len()).for_each(|device| self.show_printed(device));
    }

    /// Shows the output of kernels on the device whose context is current on a thread.
    pub(crate) fn show_printed_of(&mut self, thread: u64) {
        if let Some(device) = self.top(thread) {
            self.show_printed(device);
        }
    }

    /// Shows the output of kernels on the device of a stream.
    pub(crate) fn show_printed_before_callback(&mut self, stream: usize) {
        self.show_printed(self.streams[stream].device);
    }
}
