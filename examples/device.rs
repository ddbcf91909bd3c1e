//! Opens an example's device: a real one, or the simulated driver if there is none or if it is
//! requested.

use std::error::Error;

use cuda_sim_control::{Settings, Simulator};
use cudarc::driver::CudaFunction;
use cudarc::nvrtc::Ptx;
use pool_facade::pool_cuda::{Cuda, CudaDevice};
use pool_kernels::Module;

/// Opens the first device. Opens the simulated device if it is requested, or if there is no other.
///
/// # Errors
///
/// Fails if neither a real nor a simulated device is available.
pub fn open(simulated: bool) -> Result<CudaDevice, Box<dyn Error>> {
    // This call must precede the first call of the driver.
    if (simulated || !Cuda::is_available()) && Simulator::attach().is_none() {
        Simulator::start(Settings::default())?;
    }
    let device = Cuda::device(0)?;
    println!("device: {}", device.name()?);
    Ok(device)
}

/// Loads a kernel from one of the project's modules.
///
/// # Errors
///
/// Fails if the driver rejects the module.
pub fn kernel(
    device: &CudaDevice,
    module: Module,
    name: &str,
) -> Result<CudaFunction, Box<dyn Error>> {
    let module = device.context().load_module(Ptx::from_src(module.text()))?;
    Ok(module.load_function(name)?)
}
