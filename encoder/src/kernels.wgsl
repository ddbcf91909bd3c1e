// The operations of `Algebra` for wgpu.

// Elements of a view; the rest of the parameters are each kernel's own.
struct Rows {
    count: u32,
    columns: u32,
    // Which sequence of `softmax`, rows of each of `unit_means`.
    sequence: u32,
    epsilon: f32,
}

@group(1) @binding(0) var<uniform> parameters: Rows;

const WIDTH: u32 = 64;

var<workgroup> parts: array<f32, WIDTH>;

// What all lanes of a workgroup have, together; every lane gets it.
fn total(lane: u32, part: f32) -> f32 {
    workgroupBarrier();
    parts[lane] = part;
    for (var apart = WIDTH / 2; apart > 0; apart /= 2) {
        workgroupBarrier();
        if lane < apart {
            parts[lane] += parts[lane + apart];
        }
    }
    return workgroupUniformLoad(&parts[0]);
}

fn largest(lane: u32, part: f32) -> f32 {
    workgroupBarrier();
    parts[lane] = part;
    for (var apart = WIDTH / 2; apart > 0; apart /= 2) {
        workgroupBarrier();
        if lane < apart {
            parts[lane] = max(parts[lane], parts[lane + apart]);
        }
    }
    return workgroupUniformLoad(&parts[0]);
}

@group(0) @binding(0) var<storage, read> table: array<f32>;
@group(0) @binding(1) var<storage, read> indices: array<u32>;
@group(0) @binding(2) var<storage, read_write> sums: array<f32>;

@compute @workgroup_size(WIDTH)
fn add_rows(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
    let columns = parameters.columns;
    for (var at = id.x; at < parameters.count; at += groups.x * WIDTH) {
        let index = indices[at / columns];
        if index < arrayLength(&table) / columns {
            sums[at] += table[index * columns + at % columns];
        }
    }
}

@group(0) @binding(0) var<storage, read_write> numbers: array<f32>;

// As the host has it: a ratio of polynomials.
fn error_function(number: f32) -> f32 {
    let x = clamp(number, -3.7439212, 3.7439212);
    let z = x * x;
    let above = (((2.2905066e-4 * z + 3.408291e-3) * z + 5.0955695e-2) * z + 0.18520832) * z + 1.1283791;
    let first = ((-1.1791603e-7 * z + 2.3547966e-5) * z + 1.0179625e-3) * z + 1.407047e-2;
    let below = ((first * z + 0.11098505) * z + 0.49746925) * z + 1.0;
    return x * above / below;
}

@compute @workgroup_size(WIDTH)
fn gelu(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
    for (var at = id.x; at < parameters.count; at += groups.x * WIDTH) {
        let number = numbers[at];
        numbers[at] = number * (0.5 + 0.5 * error_function(number * 0.70710678));
    }
}

@group(0) @binding(0) var<storage, read> lengths: array<u32>;
@group(0) @binding(1) var<storage, read_write> rows: array<f32>;

// A workgroup a row.
@compute @workgroup_size(WIDTH)
fn softmax(
    @builtin(local_invocation_index) lane: u32,
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
) {
    let columns = parameters.columns;
    let length = min(lengths[parameters.sequence], columns);
    for (var row = group.x; row < parameters.count / columns; row += groups.x) {
        let start = row * columns;
        var most = -3.4028234e38;
        for (var at = lane; at < length; at += WIDTH) {
            most = max(most, rows[start + at]);
        }
        most = largest(lane, most);
        var part = 0.0;
        for (var at = lane; at < length; at += WIDTH) {
            part += exp(rows[start + at] - most);
        }
        let sum = total(lane, part);
        for (var at = lane; at < columns; at += WIDTH) {
            let power = exp(rows[start + at] - most);
            rows[start + at] = select(0.0, power / sum, at < length);
        }
    }
}

@group(0) @binding(0) var<storage, read> additions: array<f32>;
@group(0) @binding(1) var<storage, read> scale: array<f32>;
@group(0) @binding(2) var<storage, read> shift: array<f32>;
@group(0) @binding(3) var<storage, read_write> states: array<f32>;

// A workgroup a row, and a lane always the same columns of it.
@compute @workgroup_size(WIDTH)
fn add_and_normalize(
    @builtin(local_invocation_index) lane: u32,
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
) {
    let columns = parameters.columns;
    for (var row = group.x; row < parameters.count / columns; row += groups.x) {
        let start = row * columns;
        var part = 0.0;
        for (var at = lane; at < columns; at += WIDTH) {
            let sum = states[start + at] + additions[start + at];
            states[start + at] = sum;
            part += sum;
        }
        let mean = total(lane, part) / f32(columns);
        part = 0.0;
        for (var at = lane; at < columns; at += WIDTH) {
            let apart = states[start + at] - mean;
            part += apart * apart;
        }
        let variance = total(lane, part) / f32(columns);
        let inverse = 1.0 / sqrt(variance + parameters.epsilon);
        for (var at = lane; at < columns; at += WIDTH) {
            states[start + at] = (states[start + at] - mean) * inverse * scale[at] + shift[at];
        }
    }
}

@group(0) @binding(0) var<storage, read> sequences: array<f32>;
@group(0) @binding(1) var<storage, read> lengths_of_each: array<u32>;
@group(0) @binding(2) var<storage, read_write> means: array<f32>;

// A workgroup a sequence.
@compute @workgroup_size(WIDTH)
fn unit_means(
    @builtin(local_invocation_index) lane: u32,
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
) {
    let columns = parameters.columns;
    let rows_of_each = parameters.sequence;
    for (var sequence = group.x; sequence < parameters.count / columns; sequence += groups.x) {
        let start = sequence * rows_of_each * columns;
        let length = min(lengths_of_each[sequence], rows_of_each);
        var part = 0.0;
        for (var at = lane; at < columns; at += WIDTH) {
            var sum = 0.0;
            for (var row = 0u; row < length; row++) {
                sum += sequences[start + row * columns + at];
            }
            means[sequence * columns + at] = sum;
            part += sum * sum;
        }
        // The mean is as long as the sum once both have length 1.
        let inverse = 1.0 / sqrt(total(lane, part));
        for (var at = lane; at < columns; at += WIDTH) {
            means[sequence * columns + at] *= inverse;
        }
    }
}

struct Product {
    rows: u32,
    columns: u32,
    inner: u32,
    count: u32,
    // Of each: where the first matrix starts, and how far it is to the next row, and to the next matrix.
    left: vec3<u32>,
    has_bias: u32,
    right: vec3<u32>,
    right_is_turned: u32,
    to: vec3<u32>,
    factor: f32,
}

@group(1) @binding(0) var<uniform> product: Product;

@group(0) @binding(0) var<storage, read> left: array<f32>;
@group(0) @binding(1) var<storage, read> right: array<f32>;
@group(0) @binding(2) var<storage, read> bias: array<f32>;
@group(0) @binding(3) var<storage, read_write> results: array<f32>;

const TILE: u32 = 16;

var<workgroup> of_left: array<array<f32, TILE>, TILE>;
var<workgroup> of_right: array<array<f32, TILE>, TILE>;

fn right_at(start: u32, row: u32, column: u32) -> f32 {
    if row >= product.inner || column >= product.columns {
        return 0.0;
    }
    let turned = product.right_is_turned != 0;
    return right[start + select(row, column, turned) * product.right.y + select(column, row, turned)];
}

// A workgroup a tile of one product.
@compute @workgroup_size(TILE, TILE)
fn multiply(@builtin(local_invocation_id) local: vec3<u32>, @builtin(workgroup_id) group: vec3<u32>) {
    let row = group.y * TILE + local.y;
    let column = group.x * TILE + local.x;
    let left_start = product.left.x + group.z * product.left.z + row * product.left.y;
    let right_start = product.right.x + group.z * product.right.z;
    var sum = 0.0;
    for (var start = 0u; start < product.inner; start += TILE) {
        let at = start + local.x;
        if row < product.rows && at < product.inner {
            of_left[local.y][local.x] = left[left_start + at];
        } else {
            of_left[local.y][local.x] = 0.0;
        }
        of_right[local.y][local.x] = right_at(right_start, start + local.y, column);
        workgroupBarrier();
        for (var term = 0u; term < TILE; term++) {
            sum += of_left[local.y][term] * of_right[term][local.x];
        }
        workgroupBarrier();
    }
    if row < product.rows && column < product.columns {
        var result = product.factor * sum;
        if product.has_bias != 0 {
            result += bias[column];
        }
        let place = product.to.x + group.z * product.to.z + row * product.to.y + column;
        results[place] = result;
    }
}
