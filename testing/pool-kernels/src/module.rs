//! The committed PTX, for the driver and as text.

use std::ffi::CStr;

use crate::{elementwise, gather, matrix, reduction, rows, sparse, transformer};

/// A module of PTX.
#[derive(Clone, Copy, Debug)]
pub struct Module {
    name: &'static str,
    image: &'static CStr,
}

/// All modules of this crate.
pub const MODULES: [Module; 7] = [
    elementwise::MODULE,
    gather::MODULE,
    matrix::MODULE,
    reduction::MODULE,
    rows::MODULE,
    sparse::MODULE,
    transformer::MODULE,
];

/// The module whose PTX is in the file of this name.
macro_rules! module {
    ($name:literal) => {
        $crate::module::Module::new(
            $name,
            concat!(include_str!(concat!("../cuda/", $name, ".ptx")), "\0"),
        )
    };
}

pub(crate) use module;

impl Module {
    /// Creates a module in constants alone, for the macro: there an invalid text is a compile
    /// error.
    #[expect(clippy::panic, reason = "only the compiler runs it")]
    pub(crate) const fn new(name: &'static str, text: &'static str) -> Self {
        match CStr::from_bytes_with_nul(text.as_bytes()) {
            Ok(image) => Self { name, image },
            Err(_) => panic!("there is a zero in a module's text"),
        }
    }

    /// Returns the names of its files, without the extension.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        self.name
    }

    /// Returns the text with a terminating zero byte, as `cuModuleLoadData` expects.
    #[must_use]
    pub const fn image(&self) -> &'static CStr {
        self.image
    }

    /// Returns the text.
    #[must_use]
    pub fn text(&self) -> &'static str {
        // It was a text before the zero was appended.
        self.image.to_str().unwrap_or_default()
    }

    /// Returns the names of its kernels, from the text.
    pub fn kernels(&self) -> impl Iterator<Item = &'static str> {
        self.text()
            .lines()
            .filter_map(|line| line.strip_prefix(".visible .entry ")?.split('(').next())
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::{MODULES, Module};
    use crate::{elementwise, gather, matrix, reduction, rows, sparse, transformer};

    fn assert_names(module: Module, named: &[&[&'static str]]) {
        let named: Vec<&str> = named.concat();
        let unique: BTreeSet<&str> = named.iter().copied().collect();
        assert_eq!(unique.len(), named.len(), "a kernel is named twice");
        assert_eq!(unique, module.kernels().collect(), "in {}", module.name());
    }

    #[test]
    fn every_kernel_has_a_constant_and_every_constant_a_kernel() {
        use elementwise::{ADD, AXPY, AXPY_RATIO, COPY, EXP, FILL, MUL, RELU, SCALE, XPAY_RATIO};
        let maps = [FILL, COPY, AXPY, SCALE, ADD, MUL, EXP, RELU].map(|kernels| kernels.names());
        let ratios = [AXPY_RATIO, XPAY_RATIO].map(|kernels| kernels.names());
        assert_names(elementwise::MODULE, &[&maps.concat(), &ratios.concat()]);
        assert_names(gather::MODULE, &[&gather::GATHER.names()]);
        let products = [matrix::MATMUL, matrix::TRANSPOSE].map(|kernels| kernels.names());
        assert_names(matrix::MODULE, &[&products.concat()]);
        let reductions = [reduction::SUM, reduction::DOT].map(|kernels| kernels.names());
        assert_names(reduction::MODULE, &[&reductions.concat()]);
        let of_rows = [rows::SOFTMAX, rows::LAYER_NORM].map(|kernels| kernels.names());
        assert_names(rows::MODULE, &[&of_rows.concat()]);
        assert_names(sparse::MODULE, &[&sparse::SPMV.names()]);
        use transformer::{
            ADD_LAYER_NORM, ADD_ROWS, GELU, PRODUCTS, SOFTMAX_BEGINNING, UNIT_MEANS,
        };
        let steps = [ADD_ROWS, PRODUCTS, GELU, SOFTMAX_BEGINNING, ADD_LAYER_NORM, UNIT_MEANS];
        assert_names(transformer::MODULE, &[&steps.map(|kernels| kernels.names()).concat()]);
    }

    #[test]
    fn every_driver_since_cuda_13_takes_the_text() {
        for module in MODULES {
            let directives: Vec<&str> =
                module.text().lines().filter(|line| line.starts_with('.')).take(3).collect();
            assert_eq!(directives, [".version 8.0", ".target sm_75", ".address_size 64"]);
            assert!(module.image().to_bytes_with_nul().ends_with(b"\0"));
        }
    }
}
