//! Dense decompositions by faer, whose routines take their work space as a `MemStack`. The crate
//! allocates a new one for each call; our patch passes `Scope::scratch`. One thread does the work.

use std::cell::RefCell;
use std::process::ExitCode;
use std::rc::Rc;

use adoption_measure::{Case, run};
use mdarray::DArray;
use mdarray_linalg::lu::LU;
use mdarray_linalg::qr::QR;

type Matrix = DArray<f64, 2>;

/// A matrix that is decomposed repeatedly, and buffers for the results.
struct Work {
    original: Matrix,
    a: Matrix,
    results: [Matrix; 3],
}

/// The results stay in place: only heap requests of the decomposition are counted.
type Shared = Rc<RefCell<Work>>;

impl Work {
    /// Creates a symmetric matrix, positive definite by its diagonal.
    fn new(size: usize) -> Self {
        let zeros = || Matrix::from_fn([size, size], |_| 0.0);
        let original = Matrix::from_fn([size, size], |index| {
            let (low, high) = (index[0].min(index[1]), index[0].max(index[1]));
            let element = ((low * 31 + high * 17) % 101) as f64 / 101.0;
            if low == high { element + size as f64 } else { element }
        });
        Self { a: original.clone(), original, results: [zeros(), zeros(), zeros()] }
    }

    fn bits(&self) -> Vec<u64> {
        let all = self.results.iter().chain([&self.a]);
        all.flat_map(|matrix| matrix.iter().map(|value| value.to_bits()).collect::<Vec<_>>())
            .collect()
    }
}

/// Runs one decomposition by the original and by the patched crate.
fn case(
    name: &str,
    size: usize,
    by_original: impl Fn(&mut Matrix, &mut [Matrix; 3]) + 'static,
    by_pool: impl Fn(&mut Matrix, &mut [Matrix; 3]) + 'static,
) -> Case<'static> {
    let bits = |work: &Shared| work.borrow().bits();
    Case::new(format!("{name}, {size}²"))
        .version("original", on_a_copy(size, by_original), bits)
        .version("pool", on_a_copy(size, by_pool), bits)
}

fn on_a_copy(
    size: usize,
    decompose: impl Fn(&mut Matrix, &mut [Matrix; 3]),
) -> impl FnMut() -> Shared {
    let work = Rc::new(RefCell::new(Work::new(size)));
    move || {
        let Work { original, a, results } = &mut *work.borrow_mut();
        a.iter_mut().zip(original.iter()).for_each(|(to, from)| *to = *from);
        decompose(a, results);
        Rc::clone(&work)
    }
}

fn lu(faer: &impl LU<f64, usize, usize>, a: &mut Matrix, [l, u, p]: &mut [Matrix; 3]) {
    faer.lu_write(a, l, u, p);
}

fn inverse(faer: &impl LU<f64, usize, usize>, a: &mut Matrix, _: &mut [Matrix; 3]) {
    let _ = faer.inv_write(a);
}

fn cholesky(faer: &impl LU<f64, usize, usize>, a: &mut Matrix, _: &mut [Matrix; 3]) {
    let _ = faer.cholesky_write(a);
}

fn qr(faer: &impl QR<f64, usize, usize>, a: &mut Matrix, [q, r, _]: &mut [Matrix; 3]) {
    faer.qr_write(a, q, r);
}

fn main() -> ExitCode {
    faer::set_global_parallelism(faer::Par::Seq);
    macro_rules! case {
        ($name:literal, $size:expr, $decompose:ident) => {
            case(
                $name,
                $size,
                |a, results| $decompose(&original::Faer, a, results),
                |a, results| $decompose(&pool::Faer, a, results),
            )
        };
    }
    run(vec![
        case!("LU", 4, lu),
        case!("LU", 32, lu),
        case!("LU", 256, lu),
        case!("inverse", 4, inverse),
        case!("inverse", 32, inverse),
        case!("Cholesky", 8, cholesky),
        case!("Cholesky", 64, cholesky),
        case!("QR", 8, qr),
        case!("QR", 64, qr),
    ])
}
