"""What a sentence encoder of the kind of BERT answers for the tiny model, computed from the definition alone.

    python3 encoder/tests/golden.py > encoder/tests/golden.tsv

It shares nothing with the encoder but the hash that its weights come from: numbers of 64 bits, one sentence at a time
without anything that fills it up, sums over lists. A line for each sentence: its words, and its numbers.
"""

import math

WORDS, HIDDEN, HEADS, INNER, LAYERS, EPSILON = 100, 64, 4, 256, 2, 1e-12
WIDTH = HIDDEN // HEADS
MASK = 0xFFFFFFFF
LENGTHS = [1, 2, 7, 16, 13, 31]


def uniform(bits):
    bits = (bits ^ (bits >> 16)) * 0x85EBCA6B & MASK
    bits = (bits ^ (bits >> 13)) * 0xC2B2AE35 & MASK
    bits ^= bits >> 16
    return ((bits >> 8) / 16777216.0 - 0.5) * 0.5


def tensor(name, length):
    seed = 0x811C9DC5
    for byte in name.encode():
        seed = (seed ^ byte) * 0x01000193 & MASK
    numbers = [uniform(seed ^ (at * 0x9E3779B9 & MASK)) for at in range(length)]
    if not name.endswith("LayerNorm.weight"):
        return numbers
    # The sum is rounded to 32 bits there.
    return [rounded(1.0 + number) for number in numbers]


def rounded(number):
    import struct

    return struct.unpack("f", struct.pack("f", number))[0]


def table(name, rows):
    numbers = tensor(f"embeddings.{name}_embeddings.weight", rows * HIDDEN)
    return [numbers[row * HIDDEN : (row + 1) * HIDDEN] for row in range(rows)]


def dense(name, vectors, inputs, outputs):
    weight, bias = tensor(name + ".weight", inputs * outputs), tensor(name + ".bias", outputs)
    rows = [weight[out * inputs : (out + 1) * inputs] for out in range(outputs)]
    return [
        [math.fsum(w * x for w, x in zip(row, vector)) + b for row, b in zip(rows, bias)]
        for vector in vectors
    ]


def norm(name, vectors):
    scale, shift = tensor(name + ".weight", HIDDEN), tensor(name + ".bias", HIDDEN)
    answer = []
    for vector in vectors:
        mean = math.fsum(vector) / HIDDEN
        variance = math.fsum((x - mean) ** 2 for x in vector) / HIDDEN
        deviation = math.sqrt(variance + EPSILON)
        answer.append([(x - mean) / deviation * a + b for x, a, b in zip(vector, scale, shift)])
    return answer


def added(a, b):
    return [[x + y for x, y in zip(p, q)] for p, q in zip(a, b)]


def attention(name, x):
    query, key, value = (
        dense(f"{name}.self.{part}", x, HIDDEN, HIDDEN) for part in ("query", "key", "value")
    )
    found = [[] for _ in x]
    for head in range(HEADS):
        part = slice(head * WIDTH, (head + 1) * WIDTH)
        for token, q in enumerate(query):
            scores = [math.fsum(a * b for a, b in zip(q[part], k[part])) for k in key]
            powers = [math.exp(score / math.sqrt(WIDTH)) for score in scores]
            total = math.fsum(powers)
            found[token] += [
                math.fsum(p / total * v[part][at] for p, v in zip(powers, value))
                for at in range(WIDTH)
            ]
    return norm(f"{name}.output.LayerNorm", added(x, dense(f"{name}.output.dense", found, HIDDEN, HIDDEN)))


def encode(words):
    word, position, kind = table("word", WORDS), table("position", 128), table("token_type", 2)
    x = added(added([word[w] for w in words], position), [kind[0]] * len(words))
    x = norm("embeddings.LayerNorm", x)
    for at in range(LAYERS):
        layer = f"encoder.layer.{at}"
        x = attention(f"{layer}.attention", x)
        wide = dense(f"{layer}.intermediate.dense", x, HIDDEN, INNER)
        wide = [[y * 0.5 * (1 + math.erf(y / math.sqrt(2))) for y in vector] for vector in wide]
        x = norm(f"{layer}.output.LayerNorm", added(x, dense(f"{layer}.output.dense", wide, INNER, HIDDEN)))
    mean = [math.fsum(vector[at] for vector in x) / len(words) for at in range(HIDDEN)]
    length = math.sqrt(math.fsum(m * m for m in mean))
    return [m / length for m in mean]


def sentence(index, length):
    places = [(index * 1000 + at) * 2654435761 & MASK for at in range(length)]
    return [((p << 7 | p >> 25) & MASK) % WORDS for p in places]


for index, length in enumerate(LENGTHS):
    words = sentence(index, length)
    print(" ".join(map(str, words)), " ".join(f"{number:.10f}" for number in encode(words)), sep="\t")
