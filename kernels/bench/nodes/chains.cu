// Nodes of the chains that `bench nodes` measures. PDL and STAMPS are 0 or 1, set before this text.
// A node does `units` units of work, numbered on from `first`; a chain of fewer nodes does the same units.
// STAMPS: each block keeps the global timer when its work begins and when it has ended, [node][block][2].

typedef unsigned long long u64;

const int SMALL = 1024;         // elements of a unit of small_node
const int COLUMNS = 1024;       // of the matrix of gemv_node; one warp takes a row
const int BANKS = 2;            // matrices, used in turn

__device__ u64 now() {
    u64 time;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(time));
    return time;
}

__device__ void stamp(u64 *stamps, int node, int which) {
    if (threadIdx.x == 0) stamps[2 * ((u64)node * gridDim.x + blockIdx.x) + which] = now();
}

// work begins once the node before has ended; then the next one may be brought onto the card
__device__ void enter(u64 *stamps, int node) {
#if PDL && __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.wait;" ::: "memory");
    asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
#endif
#if STAMPS
    stamp(stamps, node, 0);
#endif
}

__device__ void leave(u64 *stamps, int node) {
#if STAMPS
    __syncthreads();
    stamp(stamps, node, 1);
#endif
}

extern "C" __global__ void empty_node(float *x, const float *w, u64 *stamps, int node, int units, int first) {
    enter(stamps, node);
    leave(stamps, node);
}

extern "C" __global__ void small_node(volatile float *x, const float *w, u64 *stamps, int node, int units, int first) {
    enter(stamps, node);
    for (int unit = 0; unit < units; unit++)
        for (int i = threadIdx.x; i < SMALL; i += blockDim.x) x[i] = x[i] * 0.999f + 0.001f;
    leave(stamps, node);
}

// x: the vector [COLUMNS], then the sums [rows]; w: [BANKS][rows][COLUMNS]
extern "C" __global__ void gemv_node(float *x, const float *w, u64 *stamps, int node, int units, int first) {
    enter(stamps, node);
    int warps = blockDim.x / 32, row = blockIdx.x * warps + threadIdx.x / 32, lane = threadIdx.x % 32;
    u64 bank = (u64)gridDim.x * warps * COLUMNS;
    const float4 *vector = (const float4 *)x;
    for (int unit = first; unit < first + units; unit++) {
        const float4 *weights = (const float4 *)(w + (unit % BANKS) * bank + (u64)row * COLUMNS);
        float sum = 0;
#pragma unroll
        for (int i = lane; i < COLUMNS / 4; i += 32) {
            float4 a = weights[i], b = vector[i];
            sum += a.x * b.x + a.y * b.y + a.z * b.z + a.w * b.w;
        }
        for (int step = 16; step > 0; step /= 2) sum += __shfl_xor_sync(0xffffffffu, sum, step);
        if (lane == 0) x[COLUMNS + row] = x[COLUMNS + row] * 0.5f + sum;
    }
    leave(stamps, node);
}

// keeps its stream busy while the host queues what is to be timed
extern "C" __global__ void hold(u64 ns) {
    for (u64 begin = now(); now() - begin < ns;) {}
}

// steps of the global timer
extern "C" __global__ void ticks(u64 *steps, int count) {
    u64 last = now();
    for (int i = 0; i < count; i++) {
        u64 time = now();
        while (time == last) time = now();
        steps[i] = time - last;
        last = time;
    }
}
