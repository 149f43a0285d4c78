// The collector: a library that the driver and NVTX load into a program and that writes down what it does.
//
// CUDA_INJECTION64_PATH and NVTX_INJECTION64_PATH both name it. Two modes (STEPPROF_MODE):
//   marks  NVTX ranges only, through a callback table of our own; nothing of CUPTI is touched, so a step
//          takes as long as without us. This is the untraced control.
//   ops    the same ranges, and through CUPTI: kernels, copies, memsets, API calls, synchronisation, events,
//          graph nodes with their origin, graph edges, devices, contexts, overhead, losses.
// Never GRAPH_TRACE (it hides the nodes of graphs for good), never the kernel kind that serialises.
// Where another tool holds CUPTI, one line says so and the program runs on with its ranges recorded.
//
// Environment: STEPPROF_OUT folder of the record files (without it the library does nothing), STEPPROF_MODE,
// STEPPROF_CUPTI path of libcupti for programs that have loaded none, STEPPROF_FLUSH_MS (200, at first 10),
// STEPPROF_CUPTI_FLUSH_MS (1000), STEPPROF_API=all for every API call, and the window in which ops are recorded:
// STEPPROF_DELAY_MS, STEPPROF_DURATION_MS, or STEPPROF_RANGE (regular expression of ranges) with
// STEPPROF_STEPS=A:B (the A-th of them opens the window, the B-th closes it).
// Ranges and graph nodes are recorded outside the window too: labels need those made at capture.
//
// Files: STEPPROF_OUT/<pid>[-n].steprec, one a process image, written by appending; a killed program leaves
// everything up to its last flush. All integers little-endian.
//
//   header   char magic[8] "STEPREC\0", u32 version, u32 pid, u32 parent pid, u32 mode (0 marks, 1 ops),
//            i64 CLOCK_REALTIME ns
//   records  u32 bytes of payload, u32 kind, payload: rows of the kind, one after another (structs below)
//
//   kind  row        what
//      1  text       u32 id, u32 length, bytes (UTF-8, not padded); precedes its first use
//      2  Clock      the same moment on several clocks, at start and end; version of CUPTI
//      3  Mark       NVTX push, pop, start, end, mark
//      4  Kernel     a kernel that ran
//      5  Copy       a copy, peer copy or memset that ran
//      6  Call       a CUDA runtime or driver call
//      7  Sync       a synchronisation or a stream made to wait for an event
//      8  Event      an event recorded on a stream
//      9  Node       a graph node made (origin 0) or cloned into an executable graph
//     10  Edge       a dependency between nodes of an instantiated graph; kind 0 full, 1 programmatic
//     11  Device     a GPU
//     12  Context    a context and its device
//     13  Overhead   what CUPTI says it cost
//     14  Loss       records lost: source 0 CUPTI's buffers, 1 our memory limit
//     15  Note       something to tell the user: a code and a sentence, both texts
//     16  End        the process ended in order
//
// Times are CLOCK_REALTIME ns, which is also CUPTI's clock on Linux. Struct fields that CUPTI added over the
// years are read only where its version at run time has them. One file, so that it can be read top to bottom.

#include <cupti_activity.h>
#include <cupti_version.h>
#include <cxxabi.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <link.h>
#include <nvtx3/nvToolsExt.h>
#include <pthread.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <deque>
#include <mutex>
#include <regex>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#define EXPORTED extern "C" __attribute__((visibility("default")))

namespace {

// ---- rows -----------------------------------------------------------------------------------------------------------

enum class Kind : uint32_t {
    Text = 1, Clock, Mark, Kernel, Copy, Call, Sync, Event, Node, Edge, Device, Context, Overhead, Loss, Note, End, Count
};

struct Header { char magic[8]; uint32_t version, pid, parent, mode; int64_t realtime; };
struct Clock { static constexpr Kind kind = Kind::Clock; int64_t realtime, monotonic, cupti; uint32_t at_end, cupti_version; };
struct Mark {
    static constexpr Kind kind = Kind::Mark;
    int64_t time; uint64_t id, payload; uint32_t thread, text, domain, category; uint32_t what, payload_type;
};
struct Kernel {
    static constexpr Kind kind = Kind::Kernel;
    int64_t start, end; uint64_t node; uint32_t correlation, device, context, stream, graph, name;
    int32_t grid[3], block[3]; uint32_t registers, shared, launch, pad;
};
struct Copy {
    static constexpr Kind kind = Kind::Copy;
    int64_t start, end; uint64_t bytes, node; uint32_t correlation, device, context, stream, graph;
    uint8_t activity, copy_kind, src_kind, dst_kind; int32_t src_device, dst_device;
};
struct Call { static constexpr Kind kind = Kind::Call; int64_t start, end; uint32_t correlation, thread, name, result; };
struct Sync {
    static constexpr Kind kind = Kind::Sync;
    int64_t start, end; uint64_t sync_id; uint32_t type, correlation, context, stream, event, pad;
};
struct Event { static constexpr Kind kind = Kind::Event; uint64_t sync_id; uint32_t correlation, context, stream, event; };
struct Node { static constexpr Kind kind = Kind::Node; int64_t time; uint64_t node, origin; uint32_t thread, type; };
struct Edge { static constexpr Kind kind = Kind::Edge; uint64_t from, to; uint32_t edge_kind, pad; };
struct Device {
    static constexpr Kind kind = Kind::Device;
    uint64_t bandwidth, memory; uint8_t uuid[16]; uint32_t id, sm_count, l2_bytes, name, major, minor;
};
struct Context { static constexpr Kind kind = Kind::Context; uint32_t context, device, null_stream, pad; };
struct Overhead { static constexpr Kind kind = Kind::Overhead; int64_t start, end; uint32_t what, pad; };
struct Loss { static constexpr Kind kind = Kind::Loss; uint64_t count; uint32_t source, pad; };
struct Note { static constexpr Kind kind = Kind::Note; uint32_t code, text; };
struct End { static constexpr Kind kind = Kind::End; int64_t realtime; };

static_assert(sizeof(Header) == 32 && sizeof(Clock) == 32 && sizeof(Mark) == 48 && sizeof(Kernel) == 88);
static_assert(sizeof(Copy) == 64 && sizeof(Call) == 32 && sizeof(Sync) == 48 && sizeof(Event) == 24);
static_assert(sizeof(Node) == 32 && sizeof(Edge) == 24 && sizeof(Device) == 56 && sizeof(Context) == 16);
static_assert(sizeof(Overhead) == 24 && sizeof(Loss) == 16 && sizeof(Note) == 8 && sizeof(End) == 8);

// ---- small things ---------------------------------------------------------------------------------------------------

int64_t now(clockid_t clock = CLOCK_REALTIME) {
    timespec t;
    clock_gettime(clock, &t);
    return t.tv_sec * 1'000'000'000LL + t.tv_nsec;
}

thread_local uint32_t cached_thread = 0;

uint32_t thread_id() {
    if (cached_thread == 0) cached_thread = static_cast<uint32_t>(syscall(SYS_gettid));
    return cached_thread;
}

long env_number(const char* name, long otherwise) {
    const char* text = getenv(name);
    return text && *text ? atol(text) : otherwise;
}

// Where records go. Kept from the start: a program may clear its environment.
const std::string& folder() {
    static const auto* kept = new std::string(getenv("STEPPROF_OUT") ? getenv("STEPPROF_OUT") : "");
    return *kept;
}

bool ops_wanted() {
    const char* mode = getenv("STEPPROF_MODE");
    return mode && strcmp(mode, "ops") == 0;
}

void say(const std::string& sentence) { fprintf(stderr, "stepprof: %s\n", sentence.c_str()); }

// ---- the writer -----------------------------------------------------------------------------------------------------

// Rows gather in memory by kind; a thread of ours appends them to the file. `add` takes a lock for some 20 ns.
class Writer {
public:
    template <class Row> void add(const Row& row) {
        std::lock_guard<std::mutex> hold(rows_mutex_);
        put(Row::kind, &row, sizeof row);
    }

    // A row whose text gets its id under the same lock; returns the id.
    template <class Row> uint32_t add(Row row, std::string_view text, uint32_t Row::* field) {
        std::lock_guard<std::mutex> hold(rows_mutex_);
        row.*field = number(text);
        put(Row::kind, &row, sizeof row);
        return row.*field;
    }

    uint32_t text(std::string_view text) {
        std::lock_guard<std::mutex> hold(rows_mutex_);
        return number(text);
    }

    void note(const char* code, const std::string& sentence) {
        say(sentence);
        add(Note{text(code), text(sentence)});
    }

    // Append everything gathered so far; false where the disk refuses.
    bool flush() {
        std::lock_guard<std::mutex> hold_file(file_mutex_);
        {
            std::lock_guard<std::mutex> hold(rows_mutex_);
            if (lost_ > 0) {
                const Loss loss{lost_, 1, 0};
                lost_ = 0;
                pending_[at(Kind::Loss)].append(reinterpret_cast<const char*>(&loss), sizeof loss);
            }
            std::swap(pending_, writing_);
            pending_bytes_ = 0;
        }
        std::string block;
        for (size_t kind = 1; kind < writing_.size(); kind++) {
            std::string& rows = writing_[kind];
            if (rows.empty()) continue;
            const uint32_t head[2] = {static_cast<uint32_t>(rows.size()), static_cast<uint32_t>(kind)};
            block.append(reinterpret_cast<const char*>(head), sizeof head).append(rows);
            rows.clear();
        }
        return block.empty() || append(block);
    }

    void hold() { file_mutex_.lock(); rows_mutex_.lock(); }
    void let_go() { rows_mutex_.unlock(); file_mutex_.unlock(); }

    // In a forked child: the parent's rows are the parent's, the texts are known by their ids.
    void start_anew() {
        if (is_ours()) close(file_);
        file_ = -1;
        path_.clear();
        failed_ = false;
        lost_ = pending_bytes_ = 0;
        for (std::string& rows : pending_) rows.clear();
        for (std::string& rows : writing_) rows.clear();
        for (size_t i = 0; i < kept_.size(); i++) put_text(static_cast<uint32_t>(i + 1), kept_[i]);
    }

private:
    static constexpr size_t MOST_BYTES = 1u << 30;  // of memory while the disk does not keep up

    static size_t at(Kind kind) { return static_cast<size_t>(kind); }

    void put(Kind kind, const void* row, size_t bytes) {
        if (failed_ || pending_bytes_ + bytes > MOST_BYTES) {
            lost_++;
            return;
        }
        pending_[at(kind)].append(static_cast<const char*>(row), bytes);
        pending_bytes_ += bytes;
    }

    uint32_t number(std::string_view text) {
        if (text.empty()) return 0;
        const auto found = numbers_.find(text);
        if (found != numbers_.end()) return found->second;
        kept_.emplace_back(text);
        const auto id = static_cast<uint32_t>(kept_.size());
        numbers_.emplace(kept_.back(), id);
        put_text(id, kept_.back());
        return id;
    }

    void put_text(uint32_t id, const std::string& text) {
        const uint32_t head[2] = {id, static_cast<uint32_t>(text.size())};
        pending_[at(Kind::Text)].append(reinterpret_cast<const char*>(head), sizeof head).append(text);
        pending_bytes_ += sizeof head + text.size();
    }

    bool append(const std::string& block) {
        if (failed_ || !ready()) return false;
        if (write_all(block.data(), block.size())) return true;
        fail("the record file cannot be written");
        return false;
    }

    bool ready() { return path_.empty() ? make_file() : is_ours() || open_again(); }

    bool make_file() {
        const std::string stem = folder() + "/" + std::to_string(getpid());
        for (int i = 0; file_ < 0 && i < 1000; i++) {
            path_ = stem + (i ? "-" + std::to_string(i) : "") + ".steprec";
            file_ = open_at(O_CREAT | O_EXCL);
            if (file_ < 0 && errno != EEXIST) break;
        }
        struct stat made;
        Header header{"STEPREC", 1, static_cast<uint32_t>(getpid()), static_cast<uint32_t>(getppid()), ops_wanted(), now()};
        if (file_ >= 0 && fstat(file_, &made) == 0 && write_all(reinterpret_cast<const char*>(&header), sizeof header)) {
            device_ = made.st_dev;
            inode_ = made.st_ino;
            return true;
        }
        fail("no record file can be made in " + folder());
        return false;
    }

    // A program that closes every descriptor, as daemons do, may have a file of its own under our number.
    bool is_ours() const {
        struct stat found;
        return file_ >= 0 && fstat(file_, &found) == 0 && found.st_dev == device_ && found.st_ino == inode_;
    }

    // The old number is left alone: it is the program's now.
    bool open_again() {
        file_ = open_at(0);
        if (is_ours()) return true;
        fail("the record file cannot be opened again");
        return false;
    }

    // Never as 0, 1 or 2, which a program that closed them means to open anew.
    int open_at(int more) const {
        const int file = open(path_.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC | more, 0644);
        if (file < 0 || file > 2) return file;
        const int higher = fcntl(file, F_DUPFD_CLOEXEC, 3);
        close(file);
        return higher;
    }

    bool write_all(const char* data, size_t size) {
        while (size > 0) {
            const ssize_t done = write(file_, data, size);
            if (done < 0 && errno == EINTR) continue;
            if (done < 0) return false;
            data += done;
            size -= static_cast<size_t>(done);
        }
        return true;
    }

    // An empty file beside the records says why they end; its name needs no space on the disk.
    void fail(const std::string& what) {
        const int number = errno;
        const std::string reason = strerror(number);
        failed_ = true;
        say(what + " (" + reason + "); the program runs on, unrecorded.");
        const std::string path = folder() + "/" + std::to_string(getpid()) + ".failed." + std::to_string(number);
        const int empty = open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
        if (empty >= 0) close(empty);
    }

    using ByKind = std::array<std::string, static_cast<size_t>(Kind::Count)>;
    std::mutex rows_mutex_, file_mutex_;  // taken in the order file, rows
    ByKind pending_, writing_;
    size_t pending_bytes_ = 0;
    uint64_t lost_ = 0;
    std::atomic<bool> failed_{false};
    std::string path_;  // of the record file, once made; its descriptor and what tells that it still is ours
    int file_ = -1;
    dev_t device_ = 0;
    ino_t inode_ = 0;
    std::deque<std::string> kept_;  // text of id i + 1; a deque, so that views of its strings stay valid
    std::unordered_map<std::string_view, uint32_t> numbers_;
};

Writer& writer() {
    static auto* one = new Writer;  // never destroyed: threads may still record while the process ends
    return *one;
}

// ---- CUPTI: what is called of it --------------------------------------------------------------------------------------

#define CUPTI_CALLS(X)                                                                                               \
    X(cuptiSubscribe) X(cuptiEnableCallback) X(cuptiActivityRegisterCallbacks) X(cuptiActivityEnable)                \
    X(cuptiActivityDisable) X(cuptiActivityFlushAll) X(cuptiActivityGetNextRecord)                                   \
    X(cuptiActivityGetNumDroppedRecords) X(cuptiActivitySetAttribute) X(cuptiGetVersion) X(cuptiGetResultString)     \
    X(cuptiGetTimestamp) X(cuptiSetThreadIdType) X(cuptiGetGraphNodeId) X(cuptiGetCallbackName)
#define CUPTI_LATER_CALLS(X) X(cuptiActivityEnableRuntimeApi) X(cuptiActivityEnableDriverApi)  // not in every version

struct Cupti {
#define POINTER(name) decltype(&::name) name = nullptr;
    CUPTI_CALLS(POINTER) CUPTI_LATER_CALLS(POINTER)
#undef POINTER
    uint32_t version = 0;

    bool load(void* library) {
#define FIND(name) this->name = reinterpret_cast<decltype(&::name)>(dlsym(library, #name));
        CUPTI_CALLS(FIND) CUPTI_LATER_CALLS(FIND)
#undef FIND
#define MISSING(name) if (!this->name) return false;
        CUPTI_CALLS(MISSING)
#undef MISSING
        return cuptiGetVersion(&version) == CUPTI_SUCCESS;
    }

    std::string reason(CUptiResult result) const {
        const char* text = nullptr;
        cuptiGetResultString(result, &text);
        return (text ? text : "error") + (" (" + std::to_string(result)) + ")";
    }
};

Cupti cupti;

// The libcupti that the program has loaded already (torch brings its own), else the one named to us.
// A second copy beside it would find CUPTI taken.
void* cupti_library() {
    std::string loaded;
    dl_iterate_phdr(
        [](dl_phdr_info* object, size_t, void* found) {
            const char* slash = strrchr(object->dlpi_name, '/');
            const char* base = slash ? slash + 1 : object->dlpi_name;
            if (strncmp(base, "libcupti.so", 11) != 0) return 0;
            *static_cast<std::string*>(found) = object->dlpi_name;
            return 1;
        },
        &loaded);
    if (!loaded.empty()) return dlopen(loaded.c_str(), RTLD_NOW | RTLD_NOLOAD);
    const char* given = getenv("STEPPROF_CUPTI");
    for (const char* name : {given, "libcupti.so.13", "libcupti.so.12"})
        if (name && *name)
            if (void* library = dlopen(name, RTLD_NOW | RTLD_LOCAL)) return library;
    return nullptr;
}

// ---- CUPTI records -> rows ----------------------------------------------------------------------------------------------

// Fields at these places are the same in every later struct of the kind (CUDA 12.0 to 13.5).
static_assert(offsetof(CUpti_ActivityKernel9, graphNodeId) == 144 && offsetof(CUpti_ActivityKernel9, graphId) == 156);
static_assert(offsetof(CUpti_ActivityMemcpy5, graphNodeId) == 64 && offsetof(CUpti_ActivityMemset4, graphNodeId) == 64);
static_assert(offsetof(CUpti_ActivityMemcpyPtoP4, graphNodeId) == 72 && offsetof(CUpti_ActivityAPI, correlationId) == 32);

static_assert(offsetof(CUpti_ActivityDevice4, id) == 112 && offsetof(CUpti_ActivityDevice4, name) == 136);
static_assert(offsetof(CUpti_ActivityOverhead, start) == 24 && offsetof(CUpti_ActivityOverhead3, start) == 24);

constexpr uint32_t CUDA_12_8 = 26;  // the version of CUPTI that gave synchronisations and events a sync id

// A field beyond the oldest struct: 0 where this CUPTI has it not.
template <class Field> Field tail(const void* record, size_t offset, uint32_t since) {
    Field value{};
    if (cupti.version >= since) memcpy(&value, static_cast<const char*>(record) + offset, sizeof value);
    return value;
}

std::string demangled(const char* name) {
    int status = 0;
    char* plain = abi::__cxa_demangle(name, nullptr, nullptr, &status);
    std::string result = status == 0 && plain ? plain : name;
    free(plain);
    return result;
}

// Kernel names come as shared pointers: demangled once, compared each time, since a module may be unloaded.
uint32_t kernel_name(const char* name) {
    struct Known { std::string mangled; uint32_t id; };
    static auto* known = new std::unordered_map<const void*, Known>;
    static auto* mutex = new std::mutex;
    if (!name) return 0;
    std::lock_guard<std::mutex> hold(*mutex);
    const auto found = known->find(name);
    if (found != known->end() && found->second.mangled == name) return found->second.id;
    const uint32_t id = writer().text(demangled(name));
    (*known)[name] = {name, id};
    return id;
}

void record_kernel(const CUpti_ActivityKernel9* k) {
    writer().add(Kernel{
        static_cast<int64_t>(k->start), static_cast<int64_t>(k->end), k->graphNodeId, k->correlationId, k->deviceId,
        k->contextId, k->streamId, k->graphId, kernel_name(k->name), {k->gridX, k->gridY, k->gridZ},
        {k->blockX, k->blockY, k->blockZ}, k->registersPerThread,
        static_cast<uint32_t>(k->staticSharedMemory + k->dynamicSharedMemory), k->launchType, 0});
}

void record_copy(const CUpti_ActivityMemcpy5* c) {
    writer().add(Copy{
        static_cast<int64_t>(c->start), static_cast<int64_t>(c->end), c->bytes, c->graphNodeId, c->correlationId,
        c->deviceId, c->contextId, c->streamId, c->graphId, 1, c->copyKind, c->srcKind, c->dstKind, -1, -1});
}

void record_peer_copy(const CUpti_ActivityMemcpyPtoP4* c) {
    writer().add(Copy{
        static_cast<int64_t>(c->start), static_cast<int64_t>(c->end), c->bytes, c->graphNodeId, c->correlationId,
        c->deviceId, c->contextId, c->streamId, c->graphId, 1, c->copyKind, c->srcKind, c->dstKind,
        static_cast<int32_t>(c->srcDeviceId), static_cast<int32_t>(c->dstDeviceId)});
}

void record_memset(const CUpti_ActivityMemset4* m) {
    writer().add(Copy{
        static_cast<int64_t>(m->start), static_cast<int64_t>(m->end), m->bytes, m->graphNodeId, m->correlationId,
        m->deviceId, m->contextId, m->streamId, m->graphId, 2, 0, 0, 0, -1, -1});
}

void record_call(const CUpti_ActivityAPI* a) {
    const bool runtime = a->kind == CUPTI_ACTIVITY_KIND_RUNTIME;
    const char* name = nullptr;
    cupti.cuptiGetCallbackName(runtime ? CUPTI_CB_DOMAIN_RUNTIME_API : CUPTI_CB_DOMAIN_DRIVER_API, a->cbid, &name);
    const Call call{static_cast<int64_t>(a->start), static_cast<int64_t>(a->end), a->correlationId, a->threadId, 0, a->returnValue};
    writer().add(call, name ? name : runtime ? "unknown runtime call" : "unknown driver call", &Call::name);
}

void record_sync(const CUpti_ActivitySynchronization* s) {
    const auto sync_id = tail<uint64_t>(s, 40, CUDA_12_8);
    writer().add(Sync{
        static_cast<int64_t>(s->start), static_cast<int64_t>(s->end), sync_id, static_cast<uint32_t>(s->type),
        s->correlationId, s->contextId, s->streamId, s->cudaEventId, 0});
}

void record_event(const CUpti_ActivityCudaEvent* e) {
    writer().add(Event{tail<uint64_t>(e, 48, CUDA_12_8), e->correlationId, e->contextId, e->streamId, e->eventId});
}

void record_device(const CUpti_ActivityDevice4* d) {
    Device device{
        d->globalMemoryBandwidth * 1000, d->globalMemorySize, {}, d->id, d->numMultiprocessors, d->l2CacheSize, 0,
        d->computeCapabilityMajor, d->computeCapabilityMinor};  // CUPTI gives kB/s
    memcpy(device.uuid, d->uuid.bytes, sizeof device.uuid);
    writer().add(device, d->name ? d->name : "", &Device::name);
}

void record_overhead(const CUpti_ActivityOverhead* o) {
    writer().add(Overhead{static_cast<int64_t>(o->start), static_cast<int64_t>(o->end), static_cast<uint32_t>(o->overheadKind), 0});
}

void record_activity(const CUpti_Activity* record) {
    switch (record->kind) {
        case CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL: return record_kernel(reinterpret_cast<const CUpti_ActivityKernel9*>(record));
        case CUPTI_ACTIVITY_KIND_MEMCPY: return record_copy(reinterpret_cast<const CUpti_ActivityMemcpy5*>(record));
        case CUPTI_ACTIVITY_KIND_MEMCPY2: return record_peer_copy(reinterpret_cast<const CUpti_ActivityMemcpyPtoP4*>(record));
        case CUPTI_ACTIVITY_KIND_MEMSET: return record_memset(reinterpret_cast<const CUpti_ActivityMemset4*>(record));
        case CUPTI_ACTIVITY_KIND_RUNTIME:
        case CUPTI_ACTIVITY_KIND_DRIVER: return record_call(reinterpret_cast<const CUpti_ActivityAPI*>(record));
        case CUPTI_ACTIVITY_KIND_SYNCHRONIZATION: return record_sync(reinterpret_cast<const CUpti_ActivitySynchronization*>(record));
        case CUPTI_ACTIVITY_KIND_CUDA_EVENT: return record_event(reinterpret_cast<const CUpti_ActivityCudaEvent*>(record));
        case CUPTI_ACTIVITY_KIND_DEVICE: return record_device(reinterpret_cast<const CUpti_ActivityDevice4*>(record));
        case CUPTI_ACTIVITY_KIND_OVERHEAD: return record_overhead(reinterpret_cast<const CUpti_ActivityOverhead*>(record));
        case CUPTI_ACTIVITY_KIND_CONTEXT: {
            const auto* c = reinterpret_cast<const CUpti_ActivityContext*>(record);
            return writer().add(Context{c->contextId, c->deviceId, c->nullStreamId, 0});
        }
        default: return;
    }
}

constexpr size_t BUFFER_BYTES = 4u << 20;

std::atomic<bool> buffers_used{false};

void CUPTIAPI buffer_requested(uint8_t** buffer, size_t* size, size_t* most_records) {
    buffers_used = true;
    *buffer = static_cast<uint8_t*>(calloc(1, BUFFER_BYTES));  // zeroed, as we told CUPTI
    *size = *buffer ? BUFFER_BYTES : 0;
    *most_records = 0;
}

void CUPTIAPI buffer_completed(CUcontext context, uint32_t stream, uint8_t* buffer, size_t, size_t valid) {
    CUpti_Activity* record = nullptr;
    while (valid > 0 && cupti.cuptiActivityGetNextRecord(buffer, valid, &record) == CUPTI_SUCCESS) record_activity(record);
    free(buffer);
    size_t dropped = 0;
    if (cupti.cuptiActivityGetNumDroppedRecords(context, stream, &dropped) == CUPTI_SUCCESS && dropped > 0)
        writer().add(Loss{dropped, 0, 0});
}

// ---- graphs -----------------------------------------------------------------------------------------------------------

// Driver calls are looked up when needed: a symbol that is missing at load makes the driver ignore us in silence.
template <class Function> Function driver_call(const char* name) {
    static void* driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
    return driver ? reinterpret_cast<Function>(dlsym(driver, name)) : nullptr;
}

struct EdgeData { unsigned char from_port, to_port, type, reserved[5]; };  // CUgraphEdgeData, which CUDA 12.0 has not
using GetEdges2 = CUresult (*)(CUgraph, CUgraphNode*, CUgraphNode*, EdgeData*, size_t*);
using GetEdges1 = CUresult (*)(CUgraph, CUgraphNode*, CUgraphNode*, size_t*);
using GetNodes = CUresult (*)(CUgraph, CUgraphNode*, size_t*);
using GetType = CUresult (*)(CUgraphNode, CUgraphNodeType*);
using GetChild = CUresult (*)(CUgraphNode, CUgraph*);

CUresult graph_edges(CUgraph graph, std::vector<CUgraphNode>& from, std::vector<CUgraphNode>& to, std::vector<EdgeData>& data) {
    static const auto newer = driver_call<GetEdges2>("cuGraphGetEdges_v2");
    static const auto older = driver_call<GetEdges1>("cuGraphGetEdges");
    if (!newer && !older) return CUDA_ERROR_NOT_FOUND;
    size_t count = 0;
    CUresult result = newer ? newer(graph, nullptr, nullptr, nullptr, &count) : older(graph, nullptr, nullptr, &count);
    from.resize(count);
    to.resize(count);
    data.assign(count, EdgeData{});
    if (result != CUDA_SUCCESS || count == 0) return result;
    return newer ? newer(graph, from.data(), to.data(), data.data(), &count) : older(graph, from.data(), to.data(), &count);
}

void record_edges(CUgraph graph, int depth);

void record_child_graphs(CUgraph graph, int depth) {
    static const auto get_nodes = driver_call<GetNodes>("cuGraphGetNodes");
    static const auto get_type = driver_call<GetType>("cuGraphNodeGetType");
    static const auto get_child = driver_call<GetChild>("cuGraphChildGraphNodeGetGraph");
    size_t count = 0;
    if (!get_nodes || !get_type || !get_child || get_nodes(graph, nullptr, &count) != CUDA_SUCCESS) return;
    std::vector<CUgraphNode> nodes(count);
    if (count == 0 || get_nodes(graph, nodes.data(), &count) != CUDA_SUCCESS) return;
    for (CUgraphNode node : nodes) {
        CUgraphNodeType type;
        CUgraph child = nullptr;
        if (get_type(node, &type) == CUDA_SUCCESS && type == CU_GRAPH_NODE_TYPE_GRAPH && get_child(node, &child) == CUDA_SUCCESS)
            record_edges(child, depth + 1);
    }
}

// The edges of a graph as it is instantiated, between the nodes made at capture.
void record_edges(CUgraph graph, int depth) {
    std::vector<CUgraphNode> from, to;
    std::vector<EdgeData> data;
    const CUresult result = graph_edges(graph, from, to, data);
    if (result != CUDA_SUCCESS) return writer().note("edges_unread", "the edges of a graph cannot be read (CUDA error " + std::to_string(result) + ").");
    for (size_t i = 0; i < from.size(); i++) {
        Edge edge{0, 0, data[i].type == 1 ? 1u : 0u, 0};
        if (cupti.cuptiGetGraphNodeId(from[i], &edge.from) == CUPTI_SUCCESS && cupti.cuptiGetGraphNodeId(to[i], &edge.to) == CUPTI_SUCCESS)
            writer().add(edge);
    }
    if (depth < 4) record_child_graphs(graph, depth);
}

void CUPTIAPI graph_callback(void*, CUpti_CallbackDomain domain, CUpti_CallbackId id, const void* data) {
    if (domain != CUPTI_CB_DOMAIN_RESOURCE || !data) return;
    const auto* graph = static_cast<const CUpti_GraphData*>(static_cast<const CUpti_ResourceData*>(data)->resourceDescriptor);
    if (!graph) return;
    if (id == CUPTI_CBID_RESOURCE_GRAPHEXEC_CREATED) {
        if (graph->graph) record_edges(graph->graph, 0);
        return;
    }
    Node node{now(), 0, 0, thread_id(), static_cast<uint32_t>(graph->nodeType)};
    cupti.cuptiGetGraphNodeId(graph->node, &node.node);
    if (id == CUPTI_CBID_RESOURCE_GRAPHNODE_CLONED && graph->originalNode) cupti.cuptiGetGraphNodeId(graph->originalNode, &node.origin);
    writer().add(node);
}

enum What : uint32_t { Push = 1, Pop, Start, Stop, Instant };

// ---- turning recording on and off -----------------------------------------------------------------------------------------

// API calls that launch, move, wait or shape graphs. Every other call costs time and answers nothing.
const char* const NEEDED_CALLS =
    "^(cuda|cu)(Launch|Graph(Launch|Instantiate|Upload|ExecUpdate)|Memcpy|Memset|Malloc|Free|MemAlloc|MemFree|HostAlloc|"
    "StreamWaitEvent|Stream(Begin|End)Capture|EventRecord|(Device|Stream|Event|Ctx|Thread)Synchronize|ModuleLoad|LibraryLoad)";

// Names the calls to be recorded one by one; false where this CUPTI can only record all of them.
bool enable_needed_calls() {
    if (!cupti.cuptiActivityEnableRuntimeApi || !cupti.cuptiActivityEnableDriverApi) return false;
    static const std::regex needed(NEEDED_CALLS);
    for (bool runtime : {true, false})
        for (uint32_t id = 1; id < 2000; id++) {
            const char* name = nullptr;
            const auto domain = runtime ? CUPTI_CB_DOMAIN_RUNTIME_API : CUPTI_CB_DOMAIN_DRIVER_API;
            if (cupti.cuptiGetCallbackName(domain, id, &name) != CUPTI_SUCCESS || !name || !std::regex_search(name, needed)) continue;
            const auto enable = runtime ? cupti.cuptiActivityEnableRuntimeApi : cupti.cuptiActivityEnableDriverApi;
            if (enable(id, 1) != CUPTI_SUCCESS) return false;
        }
    return true;
}

const CUpti_ActivityKind OP_KINDS[] = {
    CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, CUPTI_ACTIVITY_KIND_MEMCPY, CUPTI_ACTIVITY_KIND_MEMCPY2, CUPTI_ACTIVITY_KIND_MEMSET,
    CUPTI_ACTIVITY_KIND_SYNCHRONIZATION, CUPTI_ACTIVITY_KIND_CUDA_EVENT, CUPTI_ACTIVITY_KIND_OVERHEAD};
const CUpti_ActivityKind CALL_KINDS[] = {CUPTI_ACTIVITY_KIND_RUNTIME, CUPTI_ACTIVITY_KIND_DRIVER};

void enable(CUpti_ActivityKind kind) {
    const CUptiResult result = cupti.cuptiActivityEnable(kind);
    if (result != CUPTI_SUCCESS)
        writer().note("kind_refused", "CUPTI does not record activity kind " + std::to_string(kind) + ": " + cupti.reason(result) + ".");
}

std::atomic<bool> cupti_ready{false};  // subscribed; ops can be recorded
std::mutex ops_mutex;
bool ops_on = false;

// Calls are recorded from the start, whatever the window: enabled when a window opened, none came (CUDA 13.0, driver 580).
// The import leaves out those outside the window.
void record_calls() {
    const char* wanted = getenv("STEPPROF_API");
    if ((wanted && strcmp(wanted, "all") == 0) || !enable_needed_calls())
        for (CUpti_ActivityKind kind : CALL_KINDS) enable(kind);
}

void switch_ops(bool on) {
    std::lock_guard<std::mutex> hold(ops_mutex);
    if (!cupti_ready || ops_on == on) return;
    ops_on = on;
    for (CUpti_ActivityKind kind : OP_KINDS) on ? enable(kind) : void(cupti.cuptiActivityDisable(kind));
}

// When ops are recorded: always, between two times, or between two of the ranges that match an expression.
class Window {
public:
    Window() {
        const char* range = getenv("STEPPROF_RANGE");
        const char* steps = getenv("STEPPROF_STEPS");
        delay_ = env_number("STEPPROF_DELAY_MS", 0) * 1'000'000;
        duration_ = env_number("STEPPROF_DURATION_MS", 0) * 1'000'000;
        if (steps) sscanf(steps, "%ld:%ld", &first_, &last_);
        if (range && *range) try {
            pattern_ = std::regex(range);
            by_range_ = true;
        } catch (const std::regex_error&) {
            writer().note("range_expression", std::string("the range expression ") + range + " cannot be read; everything is recorded.");
        }
    }

    bool timed() const { return delay_ > 0 || duration_ > 0; }
    bool by_range() const { return by_range_; }
    bool open_at_start() const { return !by_range_ && delay_ == 0; }

    // A mark was made: where it opens a range that matches, the window may open or close.
    // A match inside a match on the same thread is the same step, marked twice.
    void follow(What what, uint32_t text, std::string_view words) {
        thread_local long open_ranges = 0, matched_at = -1;
        if (!by_range_) return;
        if (what == Pop && --open_ranges == matched_at) matched_at = -1;
        const bool first = (what == Push || what == Start) && matched_at < 0 && matches(text, words);
        if (first && what == Push) matched_at = open_ranges;
        if (what == Push) open_ranges++;
        if (!first) return;
        const long index = seen_++;
        if (index == first_) switch_ops(true);
        // One step late: CUPTI gives the last launch of a graph the end of a later one (CUDA 13.0); the import leaves it out.
        if (last_ >= 0 && index == last_ + 1) switch_ops(false);
    }

    // Called now and then by the flushing thread.
    void tick() {
        if (!cupti_ready || by_range_ || !timed() || over_) return;
        const int64_t since = now(CLOCK_MONOTONIC) - start_;
        if (since >= delay_) switch_ops(true);
        if (duration_ > 0 && since >= delay_ + duration_) {
            switch_ops(false);
            over_ = true;
        }
    }

private:
    bool matches(uint32_t text, std::string_view words) {
        std::lock_guard<std::mutex> hold(mutex_);
        const auto found = known_.find(text);
        if (found != known_.end()) return found->second;
        return known_[text] = std::regex_search(words.begin(), words.end(), pattern_);
    }

    bool by_range_ = false, over_ = false;
    std::regex pattern_;
    long first_ = 0, last_ = -1;
    std::atomic<long> seen_{0};
    int64_t delay_ = 0, duration_ = 0, start_ = now(CLOCK_MONOTONIC);
    std::mutex mutex_;
    std::unordered_map<uint32_t, bool> known_;
};

Window& window() {
    static auto* one = new Window;
    return *one;
}

std::atomic<bool> asleep{false};  // a forked child that has neither made a mark nor started CUDA yet
void wake_up();

// ---- NVTX: our own callback table -----------------------------------------------------------------------------------------

struct Text { uint32_t id; std::string words; };  // behind a registered string or a domain

uint32_t handle_id(const void* handle) { return handle ? static_cast<const Text*>(handle)->id : 0; }

std::string utf8(const wchar_t* wide) {
    std::string text;
    for (; wide && *wide; wide++) {
        const auto c = static_cast<uint32_t>(*wide);
        if (c < 0x80) text += static_cast<char>(c);
        else if (c < 0x800) (text += static_cast<char>(0xC0 | c >> 6)) += static_cast<char>(0x80 | (c & 63));
        else if (c < 0x10000) ((text += static_cast<char>(0xE0 | c >> 12)) += static_cast<char>(0x80 | (c >> 6 & 63))) += static_cast<char>(0x80 | (c & 63));
        else (((text += static_cast<char>(0xF0 | (c >> 18 & 7))) += static_cast<char>(0x80 | (c >> 12 & 63))) += static_cast<char>(0x80 | (c >> 6 & 63))) += static_cast<char>(0x80 | (c & 63));
    }
    return text;
}

// `text` is the id of `words` where that is known already, else 0.
void add_mark(What what, uint32_t text, std::string_view words, const void* domain, uint64_t id, const nvtxEventAttributes_t* given) {
    Mark mark{now(), id, 0, thread_id(), text, handle_id(domain), 0, what, 0};
    if (given) {
        mark.category = given->category;
        mark.payload_type = static_cast<uint32_t>(given->payloadType);
        if (given->payloadType != NVTX_PAYLOAD_UNKNOWN) mark.payload = given->payload.ullValue;
    }
    if (text || words.empty()) writer().add(mark);
    else text = writer().add(mark, words, &Mark::text);
    if (asleep) wake_up();
    if (cupti_ready) window().follow(what, text, words);
}

void mark_text(What what, const char* text, uint64_t id = 0) {
    const std::string_view words = text ? text : "";
    add_mark(what, 0, words, nullptr, id, nullptr);
}

void mark_attributes(What what, const void* domain, const nvtxEventAttributes_t* a, uint64_t id = 0) {
    if (!a) return add_mark(what, 0, "", domain, id, nullptr);
    if (a->messageType == NVTX_MESSAGE_TYPE_REGISTERED && a->message.registered) {
        const auto* text = reinterpret_cast<const Text*>(a->message.registered);
        return add_mark(what, text->id, text->words, domain, id, a);
    }
    const std::string wide = a->messageType == NVTX_MESSAGE_TYPE_UNICODE ? utf8(a->message.unicode) : "";
    const std::string_view words = a->messageType == NVTX_MESSAGE_TYPE_ASCII && a->message.ascii ? a->message.ascii : std::string_view(wide);
    add_mark(what, 0, words, domain, id, a);
}

std::atomic<uint64_t> next_range{1};
thread_local int depth = 0;

Text* keep(std::string words) { return new Text{writer().text(words), words}; }  // handles live as long as the program

int NVTX_API push_a(const char* text) { return mark_text(Push, text), depth++; }
int NVTX_API push_w(const wchar_t* text) { return mark_text(Push, utf8(text).c_str()), depth++; }
int NVTX_API push_ex(const nvtxEventAttributes_t* a) { return mark_attributes(Push, nullptr, a), depth++; }
int NVTX_API pop() { return add_mark(Pop, 0, "", nullptr, 0, nullptr), depth > 0 ? --depth : 0; }
void NVTX_API mark_a(const char* text) { mark_text(Instant, text); }
void NVTX_API mark_w(const wchar_t* text) { mark_text(Instant, utf8(text).c_str()); }
void NVTX_API mark_ex(const nvtxEventAttributes_t* a) { mark_attributes(Instant, nullptr, a); }

nvtxRangeId_t NVTX_API start_a(const char* text) {
    const uint64_t id = next_range++;
    return mark_text(Start, text, id), id;
}
nvtxRangeId_t NVTX_API start_w(const wchar_t* text) { return start_a(utf8(text).c_str()); }
nvtxRangeId_t NVTX_API domain_start(nvtxDomainHandle_t domain, const nvtxEventAttributes_t* a) {
    const uint64_t id = next_range++;
    return mark_attributes(Start, domain, a, id), id;
}
nvtxRangeId_t NVTX_API start_ex(const nvtxEventAttributes_t* a) { return domain_start(nullptr, a); }
void NVTX_API stop(nvtxRangeId_t id) { add_mark(Stop, 0, "", nullptr, id, nullptr); }
void NVTX_API domain_stop(nvtxDomainHandle_t domain, nvtxRangeId_t id) { add_mark(Stop, 0, "", domain, id, nullptr); }

void NVTX_API domain_mark(nvtxDomainHandle_t domain, const nvtxEventAttributes_t* a) { mark_attributes(Instant, domain, a); }
int NVTX_API domain_push(nvtxDomainHandle_t domain, const nvtxEventAttributes_t* a) { return mark_attributes(Push, domain, a), 0; }
int NVTX_API domain_pop(nvtxDomainHandle_t domain) { return add_mark(Pop, 0, "", domain, 0, nullptr), 0; }
nvtxStringHandle_t NVTX_API string_a(nvtxDomainHandle_t, const char* text) { return reinterpret_cast<nvtxStringHandle_t>(keep(text ? text : "")); }
nvtxStringHandle_t NVTX_API string_w(nvtxDomainHandle_t, const wchar_t* text) { return reinterpret_cast<nvtxStringHandle_t>(keep(utf8(text))); }
nvtxDomainHandle_t NVTX_API domain_a(const char* name) { return reinterpret_cast<nvtxDomainHandle_t>(keep(name ? name : "")); }
nvtxDomainHandle_t NVTX_API domain_w(const wchar_t* name) { return reinterpret_cast<nvtxDomainHandle_t>(keep(utf8(name))); }

struct Hook { unsigned id; NvtxFunctionPointer function; };
#define HOOK(id, function) {id, reinterpret_cast<NvtxFunctionPointer>(function)}

const Hook CORE[] = {
    HOOK(NVTX_CBID_CORE_MarkEx, mark_ex), HOOK(NVTX_CBID_CORE_MarkA, mark_a), HOOK(NVTX_CBID_CORE_MarkW, mark_w),
    HOOK(NVTX_CBID_CORE_RangeStartEx, start_ex), HOOK(NVTX_CBID_CORE_RangeStartA, start_a), HOOK(NVTX_CBID_CORE_RangeStartW, start_w),
    HOOK(NVTX_CBID_CORE_RangeEnd, stop), HOOK(NVTX_CBID_CORE_RangePushEx, push_ex), HOOK(NVTX_CBID_CORE_RangePushA, push_a),
    HOOK(NVTX_CBID_CORE_RangePushW, push_w), HOOK(NVTX_CBID_CORE_RangePop, pop)};
const Hook CORE2[] = {
    HOOK(NVTX_CBID_CORE2_DomainMarkEx, domain_mark), HOOK(NVTX_CBID_CORE2_DomainRangeStartEx, domain_start),
    HOOK(NVTX_CBID_CORE2_DomainRangeEnd, domain_stop), HOOK(NVTX_CBID_CORE2_DomainRangePushEx, domain_push),
    HOOK(NVTX_CBID_CORE2_DomainRangePop, domain_pop), HOOK(NVTX_CBID_CORE2_DomainRegisterStringA, string_a),
    HOOK(NVTX_CBID_CORE2_DomainRegisterStringW, string_w), HOOK(NVTX_CBID_CORE2_DomainCreateA, domain_a),
    HOOK(NVTX_CBID_CORE2_DomainCreateW, domain_w)};

template <size_t N> bool hook(const NvtxExportTableCallbacks* table, NvtxCallbackModule module, const Hook (&hooks)[N]) {
    NvtxFunctionTable functions = nullptr;
    unsigned size = 0;
    if (!table->GetModuleFunctionTable(module, &functions, &size) || !functions) return false;
    for (const Hook& h : hooks)
        if (h.id < size && functions[h.id]) *functions[h.id] = h.function;
    return true;
}

// ---- start, flush, end ------------------------------------------------------------------------------------------------------

pthread_t flusher;
std::atomic<pid_t> flusher_owner{0};  // the process whose thread it is; a forked child has none
std::atomic<bool> ending{false};

void add_clock(bool at_end) {
    uint64_t gpu = 0;
    if (cupti_ready) cupti.cuptiGetTimestamp(&gpu);
    writer().add(Clock{now(), now(CLOCK_MONOTONIC), static_cast<int64_t>(gpu), at_end, cupti.version});
}

// Soon at first, then less and less often: a forked worker may live for some 30 ms and end without a word.
void* flush_now_and_then(void*) {
    const long every = std::max(10L, env_number("STEPPROF_FLUSH_MS", 200));
    const long cupti_every = env_number("STEPPROF_CUPTI_FLUSH_MS", 1000);
    int64_t last = now(CLOCK_MONOTONIC);
    for (long wait = 10; !ending; wait = std::min(2 * wait, every)) {
        usleep(static_cast<useconds_t>(wait) * 1000);
        window().tick();
        if (cupti_ready && buffers_used && cupti_every > 0 && now(CLOCK_MONOTONIC) - last > cupti_every * 1'000'000) {
            cupti.cuptiActivityFlushAll(0);  // also buffers that are not full, else a kill would lose them
            last = now(CLOCK_MONOTONIC);
        }
        writer().flush();
    }
    return nullptr;
}

// The program's signals are the program's: our thread takes none.
void start_flusher() {
    pid_t nobody = flusher_owner;
    if (nobody == getpid() || !flusher_owner.compare_exchange_strong(nobody, getpid())) return;
    sigset_t every, before;
    sigfillset(&every);
    pthread_sigmask(SIG_SETMASK, &every, &before);
    if (pthread_create(&flusher, nullptr, flush_now_and_then, nullptr) != 0) flusher_owner = 0;
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

// On a thread of the program, where a file-size limit shall be an error, not the end of the program.
void flush_here() {
    sigset_t size_limit, before;
    sigemptyset(&size_limit);
    sigaddset(&size_limit, SIGXFSZ);
    pthread_sigmask(SIG_BLOCK, &size_limit, &before);
    writer().flush();
    const timespec at_once{};
    if (!sigismember(&before, SIGXFSZ)) sigtimedwait(&size_limit, nullptr, &at_once);  // else it comes when let in
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

void finish() {
    static std::atomic<pid_t> done{0};
    if (done.exchange(getpid()) == getpid() || asleep) return;
    ending = true;
    if (flusher_owner == getpid()) pthread_join(flusher, nullptr);
    if (cupti_ready) cupti.cuptiActivityFlushAll(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);
    add_clock(true);
    writer().add(End{now()});
    flush_here();
}

void before_fork() { writer().hold(); }
void after_fork_in_parent() { writer().let_go(); }

// A child writes its own file, from its first mark or its start of CUDA on: most children only start another program.
// CUDA that the parent started does not live on in it, so neither do ops; where the parent had not, the child may.
void after_fork_in_child() {
    cached_thread = 0;
    cupti_ready = ending = false;
    writer().start_anew();
    writer().let_go();
    asleep = true;
}

// The file is there at once: a worker that ends by _exit, as those of multiprocessing do, is then known to lack its end.
void wake_up() {
    if (!asleep.exchange(false)) return;
    add_clock(false);
    flush_here();
    start_flusher();
}

bool begin() {
    static std::once_flag once;
    if (folder().empty()) return false;
    std::call_once(once, [] {
        add_clock(false);
        window();  // made before any fork can catch another thread making it
        pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child);
        start_flusher();
    });
    atexit(finish);  // once for NVTX and once for CUDA: the later one runs first, before the driver goes
    return true;
}

bool subscribe() {
    static CUpti_SubscriberHandle subscriber;
    void* library = cupti_library();
    if (!library) return writer().note("cupti_missing", "libcupti is not found, so no GPU op is recorded: install nvidia-cuda-cupti or the CUDA toolkit."), false;
    if (!cupti.load(library)) return writer().note("cupti_old", "this libcupti is too old (12.0 or newer is needed), so no GPU op is recorded."), false;
    const CUptiResult result = cupti.cuptiSubscribe(&subscriber, graph_callback, nullptr);
    if (result == CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED || result == CUPTI_ERROR_MAX_LIMIT_REACHED)
        return writer().note("cupti_taken", "another tool (nsys, torch.profiler, a debugger) holds CUPTI in process " + std::to_string(getpid()) + ", so no GPU op is recorded there."), false;
    if (result != CUPTI_SUCCESS) return writer().note("cupti_refused", "CUPTI does not start, so no GPU op is recorded: " + cupti.reason(result) + "."), false;
    for (auto id : {CUPTI_CBID_RESOURCE_GRAPHNODE_CREATED, CUPTI_CBID_RESOURCE_GRAPHNODE_CLONED, CUPTI_CBID_RESOURCE_GRAPHEXEC_CREATED})
        cupti.cuptiEnableCallback(1, subscriber, CUPTI_CB_DOMAIN_RESOURCE, id);
    return true;
}

void start_ops() {
    wake_up();
    if (!subscribe()) return;
    size_t size = sizeof(uint8_t);
    uint8_t zeroed = 1;
    cupti.cuptiActivitySetAttribute(CUPTI_ACTIVITY_ATTR_ZEROED_OUT_ACTIVITY_BUFFER, &size, &zeroed);
    // the thread ids that NVTX marks carry
    if (cupti.cuptiSetThreadIdType(CUPTI_ACTIVITY_THREAD_ID_TYPE_SYSTEM) != CUPTI_SUCCESS)
        writer().note("thread_ids", "CUPTI does not give system thread ids, so ranges and calls may not match.");
    const CUptiResult result = cupti.cuptiActivityRegisterCallbacks(buffer_requested, buffer_completed);
    if (result != CUPTI_SUCCESS) return writer().note("cupti_refused", "CUPTI takes no buffers, so no GPU op is recorded: " + cupti.reason(result) + ".");
    cupti_ready = true;
    enable(CUPTI_ACTIVITY_KIND_DEVICE);
    enable(CUPTI_ACTIVITY_KIND_CONTEXT);
    record_calls();
    if (window().open_at_start()) switch_ops(true);
    add_clock(false);
}

}  // namespace

// The driver calls this in cuInit.
EXPORTED int InitializeInjection(void) {
    static std::once_flag once;
    if (begin() && ops_wanted()) std::call_once(once, start_ops);
    return 1;
}

// Every library that uses NVTX calls this with a table of its own.
EXPORTED int InitializeInjectionNvtx2(NvtxGetExportTableFunc_t get_table) {
    if (!begin()) return 0;
    const auto* table = static_cast<const NvtxExportTableCallbacks*>(get_table(NVTX_ETID_CALLBACKS));
    if (!table) return 0;
    const bool core = hook(table, NVTX_CB_MODULE_CORE, CORE);
    const bool core2 = hook(table, NVTX_CB_MODULE_CORE2, CORE2);
    return core || core2;
}
