"""The encoder's model in torch or in ONNX Runtime, on request: `cargo xtask encode --peers` starts it.

It reads how many forwards are wanted, a number a line, and writes a line for each: processor time of the process in
nanoseconds, and page faults. At the end, what came out last goes into a file. One thread. The weights come from the model's own
file; the sentences are given as numbers, a line each.
"""

import argparse
import json
import math
import mmap
import resource
import sys
import time

import numpy


class Model:
    """A model's directory: its sizes, and its tensors by name."""

    def __init__(self, directory):
        with open(f"{directory}/config.json") as file:
            config = json.load(file)
        self.heads = config["num_attention_heads"]
        self.layers = config["num_hidden_layers"]
        self.epsilon = config["layer_norm_eps"]
        with open(f"{directory}/model.safetensors", "rb") as file:
            self.bytes = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        length = int.from_bytes(self.bytes[:8], "little")
        self.start = 8 + length
        self.header = json.loads(self.bytes[8 : self.start])

    def __getitem__(self, name):
        tensor = self.header[name]
        assert tensor["dtype"] == "F32", name
        start, end = (self.start + at for at in tensor["data_offsets"])
        return numpy.frombuffer(self.bytes[start:end], "<f4").reshape(tensor["shape"]).copy()

    def dense(self, name):
        return self[name + ".weight"], self[name + ".bias"]

    def layer(self, at):
        """Query, key, value, what attention found, its norm, the wider step, the way back, the last norm."""
        attention, layer = f"encoder.layer.{at}.attention", f"encoder.layer.{at}"
        names = [f"{attention}.self.{part}" for part in ("query", "key", "value")]
        names += [f"{attention}.output.dense", f"{attention}.output.LayerNorm"]
        names += [f"{layer}.intermediate.dense", f"{layer}.output.dense", f"{layer}.output.LayerNorm"]
        return [self.dense(name) for name in names]


def torch_forward(model, words, lengths):
    import torch
    from torch.nn import functional

    torch.set_num_threads(1)
    torch.set_num_interop_threads(1)
    count, tokens = words.shape
    tensor = torch.from_numpy
    both = lambda pair: (tensor(pair[0]), tensor(pair[1]))
    word, position, kind = (
        tensor(model[f"embeddings.{name}_embeddings.weight"]) for name in ("word", "position", "token_type")
    )
    first_norm = both(model.dense("embeddings.LayerNorm"))
    layers = [[both(pair) for pair in model.layer(at)] for at in range(model.layers)]
    words, there = tensor(words.astype("i8")), tensor(numpy.arange(tokens) < lengths[:, None])
    mask = None if there.all() else there[:, None, None, :]
    there = there[:, :, None].float()
    hidden = word.shape[1]

    def norm(x, pair):
        return functional.layer_norm(x, (hidden,), *pair, model.epsilon)

    def heads(x):
        return x.view(count, tokens, model.heads, -1).transpose(1, 2)

    def forward():
        with torch.inference_mode():
            x = norm(functional.embedding(words, word) + position[:tokens] + kind[0], first_norm)
            for query, key, value, attended, attended_norm, widening, narrowing, last_norm in layers:
                parts = (heads(functional.linear(x, *dense)) for dense in (query, key, value))
                found = functional.scaled_dot_product_attention(*parts, attn_mask=mask)
                found = found.transpose(1, 2).reshape(count, tokens, hidden)
                x = norm(x + functional.linear(found, *attended), attended_norm)
                wide = functional.gelu(functional.linear(x, *widening))
                x = norm(x + functional.linear(wide, *narrowing), last_norm)
            return functional.normalize((x * there).sum(1)).numpy()

    return forward


class Graph:
    """A graph of ONNX, one node after the other. It has the forms that ONNX Runtime knows how to fuse."""

    def __init__(self):
        self.nodes, self.constants = [], []

    def constant(self, array):
        from onnx import numpy_helper

        name = f"constant_{len(self.constants)}"
        self.constants.append(numpy_helper.from_array(numpy.asarray(array), name))
        return name

    def node(self, kind, *inputs, **attributes):
        from onnx import helper

        name = f"value_{len(self.nodes)}"
        self.nodes.append(helper.make_node(kind, inputs, [name], **attributes))
        return name

    def product(self, x, weight):
        return self.node("MatMul", x, self.constant(numpy.ascontiguousarray(weight.T)))

    def dense(self, x, pair):
        return self.node("Add", self.product(x, pair[0]), self.constant(pair[1]))

    def gelu(self, x):
        number = lambda value: self.constant(numpy.float32(value))
        erf = self.node("Erf", self.node("Div", x, number(math.sqrt(2))))
        return self.node("Mul", self.node("Mul", x, self.node("Add", erf, number(1))), number(0.5))

    def norm(self, x, pair, epsilon):
        scale, shift = map(self.constant, pair)
        return self.node("LayerNormalization", x, scale, shift, epsilon=epsilon)


def onnx_model(model, count, tokens):
    from onnx import TensorProto, helper

    graph = Graph()
    word, position, kind = (
        model[f"embeddings.{name}_embeddings.weight"] for name in ("word", "position", "token_type")
    )
    x = graph.node("Gather", graph.constant(word), "words")
    x = graph.node("Add", x, graph.constant(position[:tokens] + kind[0]))
    x = graph.norm(x, model.dense("embeddings.LayerNorm"), model.epsilon)
    for at in range(model.layers):
        query, key, value, attended, attended_norm, widening, narrowing, last_norm = model.layer(at)
        parts = [graph.product(x, weight) for weight, _ in (query, key, value)]
        bias = graph.constant(numpy.concatenate([query[1], key[1], value[1]]))
        found = graph.node(
            "MultiHeadAttention", *parts, bias, "lengths", domain="com.microsoft", num_heads=model.heads
        )
        x = graph.norm(graph.node("Add", x, graph.dense(found, attended)), attended_norm, model.epsilon)
        wide = graph.gelu(graph.dense(x, widening))
        x = graph.norm(graph.node("Add", x, graph.dense(wide, narrowing)), last_norm, model.epsilon)
    sums = graph.node("Squeeze", graph.node("MatMul", "there", x), graph.constant(numpy.array([1])))
    graph.nodes.append(helper.make_node("LpNormalization", [sums], ["numbers"], axis=1, p=2))
    given = helper.make_tensor_value_info
    inputs = [
        given("words", TensorProto.INT64, [count, tokens]),
        given("lengths", TensorProto.INT32, [count]),
        given("there", TensorProto.FLOAT, [count, 1, tokens]),
    ]
    outputs = [given("numbers", TensorProto.FLOAT, [count, word.shape[1]])]
    whole = helper.make_graph(graph.nodes, "encoder", inputs, outputs, graph.constants)
    versions = [helper.make_opsetid("", 17), helper.make_opsetid("com.microsoft", 1)]
    return helper.make_model(whole, opset_imports=versions, ir_version=8).SerializeToString()


def onnxruntime_forward(model, words, lengths):
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_ALL
    count, tokens = words.shape
    session = onnxruntime.InferenceSession(
        onnx_model(model, count, tokens), options, providers=["CPUExecutionProvider"]
    )
    there = (numpy.arange(tokens) < lengths[:, None])[:, None, :].astype("f4")
    inputs = {"words": words.astype("i8"), "lengths": lengths.astype("i4"), "there": there}
    return lambda: session.run(["numbers"], inputs)[0]


def sentences(path):
    with open(path) as file:
        lines = [list(map(int, line.split())) for line in file]
    lengths = numpy.array([len(line) for line in lines])
    words = numpy.zeros((len(lines), lengths.max()), "i8")
    for row, line in zip(words, lines):
        row[: len(line)] = line
    return words, lengths


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--with", dest="library", choices=["torch", "onnxruntime"], required=True)
    for name in ("--model", "--sentences", "--numbers"):
        parser.add_argument(name, required=True)
    arguments = parser.parse_args()
    make = {"torch": torch_forward, "onnxruntime": onnxruntime_forward}[arguments.library]
    forward = make(Model(arguments.model), *sentences(arguments.sentences))
    faults = lambda: resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    for request in sys.stdin:
        for _ in range(int(request)):
            before, start = faults(), time.process_time_ns()
            numbers = forward()
            processor = time.process_time_ns() - start
            print("forward", processor, faults() - before, "-", sep="\t")
        sys.stdout.flush()
    numpy.ascontiguousarray(numbers, "<f4").tofile(arguments.numbers)


main()
