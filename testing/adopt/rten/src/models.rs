//! Models of two kinds, with pseudorandom weights.

use crate::onnx::{Attribute, Model};

use Attribute::{Float, Int, Ints};

/// A model, and the shape of its input.
pub struct Input {
    pub name: String,
    pub file: Vec<u8>,
    pub shape: Vec<usize>,
}

/// A residual network of the kind of ResNet: a convolution and a pooling, four blocks of two
/// convolutions, and a classifier.
pub fn residual_network(side: usize) -> Input {
    let shape = vec![1, 3, side, side];
    let mut model = Model::new(&shape);
    let convolution = |model: &mut Model, x: &str, [from, to, kernel, stride]: [usize; 4]| {
        let weights = model.weights(&[to, from, kernel, kernel]);
        let bias = model.weights(&[to]);
        let pads = [kernel / 2; 4];
        let attributes = [
            ("kernel_shape", Ints(&[kernel; 2])),
            ("strides", Ints(&[stride; 2])),
            ("pads", Ints(&pads)),
        ];
        model.operator("Conv", &[x, &weights, &bias], &attributes)
    };
    let x = convolution(&mut model, "x", [3, 32, 7, 2]);
    let x = model.operator("Relu", &[&x], &[]);
    let attributes =
        [("kernel_shape", Ints(&[3; 2])), ("strides", Ints(&[2; 2])), ("pads", Ints(&[1; 4]))];
    let mut x = model.operator("MaxPool", &[&x], &attributes);
    for [from, to, stride] in [[32, 32, 1], [32, 64, 2], [64, 128, 2], [128, 256, 2]] {
        let inner = convolution(&mut model, &x, [from, to, 3, stride]);
        let inner = model.operator("Relu", &[&inner], &[]);
        let inner = convolution(&mut model, &inner, [to, to, 3, 1]);
        let skipped =
            if from == to { x } else { convolution(&mut model, &x, [from, to, 1, stride]) };
        let sum = model.operator("Add", &[&inner, &skipped], &[]);
        x = model.operator("Relu", &[&sum], &[]);
    }
    let x = model.operator("GlobalAveragePool", &[&x], &[]);
    let x = model.operator("Flatten", &[&x], &[]);
    let (weights, bias) = (model.weights(&[256, 1_000]), model.weights(&[1_000]));
    let x = model.operator("Gemm", &[&x, &weights, &bias], &[]);
    let file = model.file(&x, &[1, 1_000]);
    Input { name: format!("residual network, {side}²"), file, shape }
}

/// Two layers of a transformer's encoder, with heads of 32 numbers.
pub fn transformer(tokens: usize, width: usize) -> Input {
    let shape = vec![1, tokens, width];
    let mut model = Model::new(&shape);
    let linear = |model: &mut Model, x: &str, from: usize, to: usize| {
        let (weights, bias) = (model.weights(&[from, to]), model.weights(&[to]));
        let product = model.operator("MatMul", &[x, &weights], &[]);
        model.operator("Add", &[&product, &bias], &[])
    };
    let normalized = |model: &mut Model, x: &str| {
        let (scale, bias) = (model.weights(&[width]), model.weights(&[width]));
        let attributes = [("axis", Int(2)), ("epsilon", Float(1e-5))];
        model.operator("LayerNormalization", &[x, &scale, &bias], &attributes)
    };
    let heads = model.integers(&[1, tokens, width / 32, 32]);
    let joined = model.integers(&shape);
    let mut x = "x".to_owned();
    for _ in 0..2 {
        let [query, key, value] = [[0, 2, 1, 3], [0, 2, 3, 1], [0, 2, 1, 3]].map(|order| {
            let projected = linear(&mut model, &x, width, width);
            let split = model.operator("Reshape", &[&projected, &heads], &[]);
            model.operator("Transpose", &[&split], &[("perm", Ints(&order))])
        });
        let scores = model.operator("MatMul", &[&query, &key], &[]);
        let scores = model.operator("Softmax", &[&scores], &[("axis", Int(3))]);
        let mixed = model.operator("MatMul", &[&scores, &value], &[]);
        let mixed = model.operator("Transpose", &[&mixed], &[("perm", Ints(&[0, 2, 1, 3]))]);
        let mixed = model.operator("Reshape", &[&mixed, &joined], &[]);
        let mixed = linear(&mut model, &mixed, width, width);
        let sum = model.operator("Add", &[&x, &mixed], &[]);
        x = normalized(&mut model, &sum);
        let wide = linear(&mut model, &x, width, 4 * width);
        let wide = model.operator("Relu", &[&wide], &[]);
        let narrow = linear(&mut model, &wide, 4 * width, width);
        let sum = model.operator("Add", &[&x, &narrow], &[]);
        x = normalized(&mut model, &sum);
    }
    let x = model.operator("Flatten", &[&x], &[]);
    let file = model.file(&x, &[1, tokens * width]);
    Input { name: format!("transformer, {tokens} tokens of {width}"), file, shape }
}
