// A machine with two GPUs, faked: the driver, CUPTI, and a program that decodes in a CUDA graph.
//
// Compiled three times: -DDRIVER gives libcuda.so.1, -DCUPTI gives libcupti.so.13, -DPROGRAM the program.
// The driver loads the injection library in cuInit as the real one does. The program captures a graph of
// three kernels and a copy inside NVTX ranges, replays it once a step, and says what CUPTI shall record.
// Times are real host times, so that marks and ops lie on one clock: each op of a replay takes 10 us.
//
// Environment: FAKE_STEPS, FAKE_EXIT (code), FAKE_KILL=1 (dies by SIGKILL after the steps), FAKE_TAKEN=1
// (another tool holds CUPTI), FAKE_DROPPED (records CUPTI lost), FAKE_STEP_US, FAKE_GROW (us that each step
// is longer than the one before), FAKE_SLOW (per cent longer under ops), FAKE_MARKS=0 (no NVTX), FAKE_FORKS (generations forked before CUDA starts, after a mark; the last does the work),
// FAKE_LATE_FORK=1 (after the steps a child tries CUDA, which does not work there, and makes a range).
#include <cupti_activity.h>
#include <cupti_version.h>
#include <dlfcn.h>
#include <signal.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <mutex>
#include <string>

static long number(const char* name, long otherwise) { return getenv(name) ? atol(getenv(name)) : otherwise; }
static CUgraphNode as_node(uint64_t id) { return reinterpret_cast<CUgraphNode>(id); }

#ifdef DRIVER
extern "C" {
CUresult cuInit(unsigned) {
    static pid_t owner = 0;  // CUDA that a parent started neither works in its child nor starts anew
    if (owner != 0 && owner != getpid()) return CUDA_ERROR_NOT_INITIALIZED;
    owner = getpid();
    const char* path = getenv("CUDA_INJECTION64_PATH");
    void* library = path ? dlopen(path, RTLD_NOW) : nullptr;
    auto* start = library ? reinterpret_cast<int (*)()>(dlsym(library, "InitializeInjection")) : nullptr;
    if (start) start();
    return number("FAKE_GPUS", 2) ? CUDA_SUCCESS : CUDA_ERROR_NO_DEVICE;
}
CUresult cuDeviceGetCount(int* count) { return *count = static_cast<int>(number("FAKE_GPUS", 2)), CUDA_SUCCESS; }
CUresult cuDriverGetVersion(int* version) { return *version = static_cast<int>(number("FAKE_DRIVER", 13000)), CUDA_SUCCESS; }
CUresult cuGraphGetEdges_v2(CUgraph, CUgraphNode* from, CUgraphNode* to, CUgraphEdgeData* data, size_t* count) {
    *count = 3;
    for (uint64_t i = 0; from && i < 3; i++) {
        from[i] = as_node(101 + i);
        to[i] = as_node(102 + i);
        data[i].type = i == 1;
    }
    return CUDA_SUCCESS;
}
}
#endif

#ifdef CUPTI
static CUpti_CallbackFunc callback;
static CUpti_BuffersCallbackRequestFunc request;
static CUpti_BuffersCallbackCompleteFunc complete;
static uint8_t* buffer;
static size_t room, used;
static bool on[64];
static std::mutex mutex;  // the collector flushes from a thread of its own
struct Head { uint64_t bytes; };  // before each record, so that the next one is found

extern "C" {
CUptiResult cuptiSubscribe(CUpti_SubscriberHandle*, CUpti_CallbackFunc f, void*) {
    callback = f;
    return number("FAKE_TAKEN", 0) ? CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED : CUPTI_SUCCESS;
}
CUptiResult cuptiEnableCallback(uint32_t, CUpti_SubscriberHandle, CUpti_CallbackDomain, CUpti_CallbackId) { return CUPTI_SUCCESS; }
CUptiResult cuptiActivityRegisterCallbacks(CUpti_BuffersCallbackRequestFunc r, CUpti_BuffersCallbackCompleteFunc c) {
    return request = r, complete = c, CUPTI_SUCCESS;
}
CUptiResult cuptiActivityEnable(CUpti_ActivityKind kind) { return on[kind] = true, CUPTI_SUCCESS; }
CUptiResult cuptiActivityDisable(CUpti_ActivityKind kind) { return on[kind] = false, CUPTI_SUCCESS; }
CUptiResult cuptiActivityFlushAll(uint32_t) {
    std::lock_guard<std::mutex> hold(mutex);
    if (buffer) complete(nullptr, 0, buffer, room, used);
    return buffer = nullptr, used = 0, CUPTI_SUCCESS;
}
CUptiResult cuptiActivityGetNextRecord(uint8_t* from, size_t valid, CUpti_Activity** record) {
    size_t at = *record ? reinterpret_cast<uint8_t*>(*record) - from : 0;
    if (*record) at += reinterpret_cast<Head*>(*record)[-1].bytes;
    if (at + sizeof(Head) >= valid) return CUPTI_ERROR_MAX_LIMIT_REACHED;
    return *record = reinterpret_cast<CUpti_Activity*>(from + at + sizeof(Head)), CUPTI_SUCCESS;
}
CUptiResult cuptiActivityGetNumDroppedRecords(CUcontext, uint32_t, size_t* count) { return *count = number("FAKE_DROPPED", 0), CUPTI_SUCCESS; }
CUptiResult cuptiActivitySetAttribute(CUpti_ActivityAttribute, size_t*, void*) { return CUPTI_SUCCESS; }
CUptiResult cuptiGetVersion(uint32_t* version) { return *version = static_cast<uint32_t>(number("FAKE_CUPTI", 130001)), CUPTI_SUCCESS; }
CUptiResult cuptiGetResultString(CUptiResult, const char** text) { return *text = "FAKE", CUPTI_SUCCESS; }
CUptiResult cuptiGetTimestamp(uint64_t* ns) {
    timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    return *ns = t.tv_sec * 1000000000ull + t.tv_nsec, CUPTI_SUCCESS;
}
CUptiResult cuptiSetThreadIdType(CUpti_ActivityThreadIdType) { return CUPTI_SUCCESS; }
CUptiResult cuptiGetGraphNodeId(CUgraphNode node, uint64_t* id) { return *id = reinterpret_cast<uint64_t>(node), CUPTI_SUCCESS; }
CUptiResult cuptiGetCallbackName(CUpti_CallbackDomain domain, uint32_t id, const char** name) {
    static const char* const names[] = {nullptr, "cudaGraphLaunch_v10000", "cudaDeviceSynchronize_v3020", "cudaGetDevice_v3020"};
    if (domain != CUPTI_CB_DOMAIN_RUNTIME_API || id < 1 || id > 3) return CUPTI_ERROR_INVALID_PARAMETER;
    return *name = names[id], CUPTI_SUCCESS;
}
// what the program tells the fake: records, and graph callbacks
void fake_record(const void* record, size_t bytes) {
    std::lock_guard<std::mutex> hold(mutex);
    if (!request || !on[*static_cast<const CUpti_ActivityKind*>(record)]) return;
    size_t most;
    if (!buffer) request(&buffer, &room, &most);
    reinterpret_cast<Head*>(buffer + used)->bytes = bytes;
    memcpy(buffer + used + sizeof(Head), record, bytes);
    used += sizeof(Head) + bytes;
}
void fake_graph(uint32_t id, uint64_t node, uint64_t origin) {
    CUpti_GraphData graph{};
    graph.graph = reinterpret_cast<CUgraph>(1);
    graph.node = as_node(node);
    graph.originalNode = as_node(origin);
    CUpti_ResourceData data{};
    data.resourceDescriptor = &graph;
    if (callback && !number("FAKE_TAKEN", 0)) callback(nullptr, CUPTI_CB_DOMAIN_RESOURCE, id, &data);
}
}
#endif

#ifdef PROGRAM
#include <nvtx3/nvToolsExt.h>
#include <sys/syscall.h>
#include <sys/wait.h>
static void (*record)(const void*, size_t);
static void (*graph)(uint32_t, uint64_t, uint64_t);
static uint32_t correlation;

static uint64_t now() {
    timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    return t.tv_sec * 1000000000ull + t.tv_nsec;
}
static void push(const char* name) {
    if (number("FAKE_MARKS", 1)) nvtxRangePushA(name);
}
static void pop() {
    if (number("FAKE_MARKS", 1)) nvtxRangePop();
}
// Goes on in a child; the parent waits and ends as the child did.
static void go_on_in_a_child() {
    const pid_t child = fork();
    if (child == 0) return;
    int status = 0;
    waitpid(child, &status, 0);
    exit(WIFEXITED(status) ? WEXITSTATUS(status) : 1);
}
static void call(uint32_t id, uint64_t start, uint64_t end) {
    CUpti_ActivityAPI api{};
    api.kind = CUPTI_ACTIVITY_KIND_RUNTIME, api.cbid = id, api.start = start, api.end = end;
    api.threadId = static_cast<uint32_t>(syscall(SYS_gettid)), api.correlationId = correlation;
    record(&api, sizeof api);
}
static void kernel(const char* name, uint64_t node, uint64_t start, uint32_t device = 0) {
    CUpti_ActivityKernel9 k{};
    k.kind = CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, k.start = start, k.end = start + 10000, k.streamId = 7;
    k.deviceId = device, k.contextId = device + 1;
    k.gridX = 4, k.gridY = 2, k.gridZ = 1, k.blockX = 128, k.blockY = k.blockZ = 1, k.registersPerThread = 32;
    k.staticSharedMemory = 100, k.dynamicSharedMemory = 28, k.correlationId = correlation;
    k.name = name, k.graphNodeId = node, k.graphId = 5;
    record(&k, sizeof k);
}
static void peer_copy(uint64_t node, uint64_t start) {
    CUpti_ActivityMemcpyPtoP4 c{};
    c.kind = CUPTI_ACTIVITY_KIND_MEMCPY2, c.copyKind = CUPTI_ACTIVITY_MEMCPY_KIND_PTOP, c.bytes = 4096, c.start = start;
    c.end = start + 10000, c.contextId = 1, c.streamId = 7, c.srcDeviceId = 0, c.dstDeviceId = 1;
    c.correlationId = correlation, c.graphNodeId = node, c.graphId = 5;
    record(&c, sizeof c);
}
static void small_records() {
    for (uint32_t id = 0; id < 2; id++) {
        CUpti_ActivityDevice4 d{};
        d.kind = CUPTI_ACTIVITY_KIND_DEVICE, d.id = id, d.name = "Fake GPU", d.numMultiprocessors = 10 + id;
        d.globalMemoryBandwidth = 4000000, d.l2CacheSize = 1 << 20;
        d.uuid.bytes[0] = static_cast<char>(id + 1);
        record(&d, sizeof d);
    }
    CUpti_ActivityMemset4 m{};
    m.kind = CUPTI_ACTIVITY_KIND_MEMSET, m.bytes = 64, m.start = now() - 5000, m.end = m.start + 1000, m.contextId = 1, m.streamId = 7;
    record(&m, sizeof m);
    CUpti_ActivityMemcpy5 c{};
    c.kind = CUPTI_ACTIVITY_KIND_MEMCPY, c.copyKind = 1, c.bytes = 128, c.start = m.start + 2000, c.end = c.start + 500, c.contextId = 1;
    record(&c, sizeof c);
    CUpti_ActivitySynchronization2 s{};
    s.kind = CUPTI_ACTIVITY_KIND_SYNCHRONIZATION, s.type = CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_STREAM_WAIT_EVENT;
    s.contextId = 1, s.streamId = 7, s.cudaEventId = 3, s.cudaEventSyncId = 9;
    record(&s, sizeof s);
    CUpti_ActivityCudaEvent2 e{};
    e.kind = CUPTI_ACTIVITY_KIND_CUDA_EVENT, e.contextId = 1, e.streamId = 8, e.eventId = 3, e.cudaEventSyncId = 9;
    record(&e, sizeof e);
    CUpti_ActivityContext c1{};
    c1.kind = CUPTI_ACTIVITY_KIND_CONTEXT, c1.contextId = 1;
    record(&c1, sizeof c1);
    CUpti_ActivityOverhead3 o{};
    o.kind = CUPTI_ACTIVITY_KIND_OVERHEAD, o.start = 1000, o.end = 3000;
    record(&o, sizeof o);
}
static void capture() {
    const char* const ranges[] = {"layer/0/attention", "layer/0/router", "layer/0/expert_gemm", "lm_head"};
    for (uint64_t i = 0; i < 4; i++) {
        push(ranges[i]);
        graph(CUPTI_CBID_RESOURCE_GRAPHNODE_CREATED, 101 + i, 0);
        pop();
    }
    graph(CUPTI_CBID_RESOURCE_GRAPHEXEC_CREATED, 0, 0);
    for (uint64_t i = 0; i < 4; i++) graph(CUPTI_CBID_RESOURCE_GRAPHNODE_CLONED, 201 + i, 101 + i);
}
static void step(long index, long microseconds) {
    push(("step/" + std::to_string(index)).c_str());
    const uint64_t start = now();
    correlation++;
    usleep(static_cast<useconds_t>(microseconds));
    call(1, start, start + 5000);
    kernel("_Z9attentionILi4EEvPfi", 201, start + 10000);
    kernel("_Z6routerPf", 202, start + 21000);
    peer_copy(203, start + 32000);
    kernel("gemm_plain", 204, start + 43000, 1);
    correlation++;
    call(3, start + 6000, start + 6100);
    call(2, start + 7000, now());
    pop();
}
int main() {
    if (number("FAKE_FORKS", 0)) nvtxMarkA("before the fork");
    for (long i = 0; i < number("FAKE_FORKS", 0); i++) go_on_in_a_child();
    void* driver = dlopen("libcuda.so.1", RTLD_NOW);
    void* cupti = getenv("CUDA_INJECTION64_PATH") ? dlopen("libcupti.so.13", RTLD_NOW) : nullptr;
    record = cupti ? reinterpret_cast<decltype(record)>(dlsym(cupti, "fake_record")) : [](const void*, size_t) {};
    graph = cupti ? reinterpret_cast<decltype(graph)>(dlsym(cupti, "fake_graph")) : [](uint32_t, uint64_t, uint64_t) {};
    auto* start = driver ? reinterpret_cast<int (*)(unsigned)>(dlsym(driver, "cuInit")) : nullptr;
    if (start) start(0);
    small_records();
    capture();
    const long slow = cupti ? 100 + number("FAKE_SLOW", 0) : 100;
    for (long i = 0; i < number("FAKE_STEPS", 5); i++) 
        step(i, (number("FAKE_STEP_US", 300) + i * number("FAKE_GROW", 0)) * slow / 100);
    if (number("FAKE_KILL", 0)) {
        usleep(400000);
        kill(getpid(), SIGKILL);
    }
    if (number("FAKE_LATE_FORK", 0)) {
        go_on_in_a_child();
        start(0);
        kernel("in a child", 0, now());
        push("in a child");
        pop();
    }
    printf("done\n");
    return static_cast<int>(number("FAKE_EXIT", 0));
}
#endif
