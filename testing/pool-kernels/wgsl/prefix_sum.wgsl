// Inclusive prefix sums, in place: of each block of 256 elements by itself; the totals of the blocks, whose own prefix
// sums are formed in the same way, are added to the blocks behind. Any grid along x.

struct PrefixSum { count: u32 }

@group(0) @binding(0) var<storage, read_write> elements: array<f32>;
@group(0) @binding(1) var<storage, read_write> totals: array<f32>;
@group(0) @binding(1) var<storage, read> sums_of_totals: array<f32>;
@group(1) @binding(0) var<uniform> parameters: PrefixSum;

// Two halves, which the steps of a block use in turns: so there is one barrier a step.
var<workgroup> sums: array<f32, 512>;

// Prefix sums within each block, and totals[block], the sum of a whole block.
@compute @workgroup_size(256)
fn prefix_sum_blocks(
    @builtin(local_invocation_id) local: vec3<u32>,
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
) {
    let blocks = (parameters.count + 255u) / 256u;
    for (var block = group.x; block < blocks; block += groups.x) {
        // Not the invocations' own order: some read what earlier ones have written, some what later ones have. So a
        // driver that runs them one after the other shows a fault in their synchronisation, too.
        let place = local.x ^ 28u;
        let i = block * 256u + place;
        var sum = 0.0;
        if i < parameters.count {
            sum = elements[i];
        }
        var side = 0u;
        // Before a step, sum is that of the `distance` elements that end here, or of all up to here.
        for (var distance = 1u; distance < 256u; distance *= 2u) {
            sums[side + place] = sum;
            workgroupBarrier();
            if place >= distance {
                sum += sums[side + place - distance];
            }
            side = 256u - side;
        }
        if i < parameters.count {
            elements[i] = sum;
        }
        if place == 255u {
            totals[block] = sum;
        }
    }
}

// elements[i] += the prefix sum of the totals of the blocks before its own.
@compute @workgroup_size(256)
fn prefix_sum_offsets(
    @builtin(global_invocation_id) invocation: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
) {
    let stride = groups.x * 256u;
    for (var i = invocation.x + 256u; i < parameters.count; i += stride) {
        elements[i] += sums_of_totals[i / 256u - 1u];
    }
}
