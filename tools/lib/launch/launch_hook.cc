// SPDX-License-Identifier: GPL-2.0
// The callback, and the table of masks that it reads without locks.
#include "lib/launch/launch_hook.hpp"

#include "lib/launch/symbol.hpp"

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <mutex>
#include <pthread.h>
#include <set>
#include <utility>
#include <vector>

namespace gpulens {

void report_unpartitioned(const std::string &why)
{
	std::fprintf(stderr, "gpulens-partition: %s; the program ends, because it would run unpartitioned\n",
		     why.c_str());
}

std::string format_uuid(const GpuUuid &gpu)
{
	std::string text = "GPU";
	char byte[4];

	for (size_t i = 0; i < gpu.size(); i++) {
		std::snprintf(byte, sizeof(byte), "%s%02x", i == 0 || i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "",
			      gpu[i]);
		text += byte;
	}
	return text;
}

namespace hook {

namespace {

using Callback = void (*)(void *, int domain, int id, const void *in);

constexpr unsigned char TABLE[16] = {0x2c, 0x8e, 0x0a, 0xd8, 0x07, 0x10, 0xab, 0x4e,
				     0x90, 0xdd, 0x54, 0x71, 0x9f, 0xe5, 0xf7, 0x4b};
constexpr size_t SUBSCRIBE = 3, ENABLE = 6;
constexpr int DOMAIN = 0xb, BEFORE_UPLOAD = 1;
constexpr size_t CONTEXT = 1, DESCRIPTOR = 4;

// Functions of CUDA's driver API that may be called from the callback (seen with driver 580).
struct Driver {
	int (*current)(void **) = nullptr;
	int (*push)(void *) = nullptr;
	int (*pop)(void **) = nullptr;
	int (*device)(int *) = nullptr;
	int (*uuid)(unsigned char (*)[16], int) = nullptr;
};

// Masks by descriptor. find() takes no lock, so that a thread of high priority never waits for one of low
// priority. Masks are never freed, so that a pointer to one stays valid.
class Table {
public:
	explicit Table(size_t size) : slots_(size), last_(size - 1) {}

	const LaunchMask *find(const void *key) const
	{
		for (size_t i = place(key); const void *has = slots_[i].key.load(std::memory_order_acquire);
		     i = next(i))
			while (has == key) {
				const Slot &slot = slots_[i];
				uint32_t tenant = slot.tenant.load(std::memory_order_acquire);
				has = slot.key.load(std::memory_order_acquire);
				const LaunchMask *mask = slot.mask.load(std::memory_order_acquire);
				// Otherwise another descriptor got this slot, and the mask may be that descriptor's.
				if (has == key && slot.tenant.load(std::memory_order_acquire) == tenant)
					return mask;
			}
		return nullptr;
	}

	// mask: nullptr removes it. False: the table is full. One caller at a time.
	bool set(const void *key, const LaunchMask *mask)
	{
		Slot *free = nullptr;
		size_t i = place(key);

		for (; const void *has = slots_[i].key.load(std::memory_order_relaxed); i = next(i)) {
			Slot &slot = slots_[i];
			if (has == key) {
				slot.mask.store(mask, std::memory_order_release);
				return true;
			}
			if (!free && !slot.mask.load(std::memory_order_relaxed))
				free = &slot;
		}
		if (!mask)
			return true;
		if (!free && 2 * ++used_ > slots_.size()) {
			used_--;
			return false;
		}
		if (!free)
			free = &slots_[i];
		// find() reads in the opposite order.
		free->key.store(key, std::memory_order_release);
		free->tenant.fetch_add(1, std::memory_order_release);
		free->mask.store(mask, std::memory_order_release);
		return true;
	}

	// A table of twice the size with the same masks.
	std::unique_ptr<Table> grown() const
	{
		std::unique_ptr<Table> table = std::make_unique<Table>(2 * slots_.size());

		for (const Slot &slot : slots_)
			if (const LaunchMask *mask = slot.mask.load(std::memory_order_relaxed))
				table->set(slot.key.load(std::memory_order_relaxed), mask);
		return table;
	}

private:
	struct Slot {
		std::atomic<const void *> key{nullptr}; // never reset to nullptr
		std::atomic<uint32_t> tenant{0};        // number of keys that the slot has had
		std::atomic<const LaunchMask *> mask{nullptr};
	};

	size_t place(const void *key) const
	{
		return (reinterpret_cast<uintptr_t>(key) >> 5) * 0x9e3779b97f4a7c15 >> 20 & last_;
	}
	size_t next(size_t i) const { return (i + 1) & last_; }

	std::vector<Slot> slots_; // a power of two, at least half of them free
	const size_t last_;       // its index
	size_t used_ = 0;
};

struct Masks {
	std::atomic<const DescriptorFormat *> format{find_descriptor(SEEN_VERSION)};
	std::atomic<const LaunchMask *> global{nullptr};
	std::atomic<bool> unmasked_refused{false};
	std::atomic<const Table *> by_descriptor;
	std::atomic<uint64_t *> masked{nullptr};
	std::atomic<void (*)()> uncounted{nullptr};
	std::atomic<const uint32_t *> asked{nullptr};
	std::atomic<uint32_t> answered{0};
	std::atomic<uint32_t (*)()> take{nullptr};
	std::atomic<void (*)()> before_launch{nullptr};
	Driver driver;
	GpuUuid gpu{};
	std::array<std::atomic<bool>, 64> verified{}; // by CUDA device number: it is the GPU above

	std::mutex lock;                            // held to change masks
	std::set<LaunchMask> all;                   // every mask that was ever set
	std::vector<std::unique_ptr<Table>> tables; // the last is in use; launches may still read the others

	Masks()
	{
		tables.push_back(std::make_unique<Table>(64));
		by_descriptor = tables.back().get();
	}
};

// Never destroyed: threads of the program may launch while it exits.
Masks &masks()
{
	static Masks &all = *new Masks;
	return all;
}

// fork() waits until no thread changes masks, so that a child gets them consistent and the lock free.
[[maybe_unused]] const int AT_FORK =
	pthread_atfork([] { masks().lock.lock(); }, [] { masks().lock.unlock(); }, [] { masks().lock.unlock(); });

struct ThreadState {
	Seen seen;
	std::optional<LaunchMask> next;
};

thread_local ThreadState thread_state;

// A launch cannot return an error to its caller.
[[noreturn]] void give_up(const std::string &why)
{
	report_unpartitioned(why);
	std::_Exit(STATUS_UNLIMITED);
}

[[noreturn]] void refuse_cooperative(uint64_t blocks, const char *what, unsigned sms)
{
	std::fprintf(
		stderr,
		"gpulens-partition: a cooperative launch of %llu %s has a mask of %u SMs: launch at most %u blocks, "
		"without clusters; the program ends, because its blocks could wait for each other for ever\n",
		static_cast<unsigned long long>(blocks), what, sms, sms);
	std::_Exit(STATUS_UNLIMITED);
}

[[noreturn]] void refuse_cluster(unsigned blocks, uint32_t fits)
{
	std::fprintf(
		stderr,
		"gpulens-partition: a launch has clusters of %u blocks, and its mask leaves at most %u SMs of one GPC: "
		"choose TPCs of one GPC (gpulens --source rm gpcs); the program ends, because the launch would wait "
		"for ever\n",
		blocks, static_cast<unsigned>(fits));
	std::_Exit(STATUS_UNLIMITED);
}

void count_launch(Masks &all)
{
	uint64_t *masked = all.masked.load(std::memory_order_acquire);

	if (!masked) {
		// A child of fork() starts its own count at its first launch.
		void (*begin)() = all.uncounted.load(std::memory_order_acquire);
		if (begin)
			begin();
		masked = all.masked.load(std::memory_order_acquire);
	}
	if (masked)
		std::atomic_ref<uint64_t>(*masked).fetch_add(1, std::memory_order_relaxed);
}

const LaunchMask *global_mask(Masks &all)
{
	const uint32_t *asked = all.asked.load(std::memory_order_acquire);

	if (asked && __atomic_load_n(asked, __ATOMIC_ACQUIRE) != all.answered.load(std::memory_order_relaxed))
		if (uint32_t(*take)() = all.take.load(std::memory_order_acquire))
			all.answered.store(take(), std::memory_order_relaxed);
	return all.global.load(std::memory_order_acquire);
}

// The device of a context, which may be another than the thread's current one. Negative: unknown to CUDA.
int device_of(const Driver &driver, void *context)
{
	void *current = nullptr;
	int device = 0, err = driver.current(&current);
	bool other = context != current;

	if (!err && other)
		err = driver.push(context);
	if (err)
		return -1;
	err = driver.device(&device);
	if (other)
		driver.pop(&current);
	return err ? -1 : device;
}

// Programs can change CUDA_VISIBLE_DEVICES, and callers of the library can have contexts on several GPUs.
void check_gpu(Masks &all, void *context)
{
	int device = device_of(all.driver, context);
	GpuUuid uuid;

	if (device < 0)
		give_up("CUDA does not report the GPU of a launch");
	auto known = static_cast<size_t>(device);
	if (known < all.verified.size() && all.verified[known].load(std::memory_order_relaxed))
		return;
	if (all.driver.uuid(reinterpret_cast<unsigned char(*)[16]>(uuid.data()), device))
		give_up("CUDA does not report the GPU of a launch");
	if (uuid != all.gpu)
		give_up("a launch is on " + format_uuid(uuid) + ", and masks were verified on " + format_uuid(all.gpu));
	if (known < all.verified.size())
		all.verified[known].store(true, std::memory_order_relaxed);
}

// The driver admits a cooperative grid if all its blocks can be resident on the whole GPU. On a part of the GPU they may not
// be, and deadlock. With at most as many blocks as SMs they are.
void check_cooperative(const DescriptorFormat &format, const unsigned char *descriptor, uint32_t flags,
		       const LaunchMask &mask)
{
	uint16_t grid[3];

	std::memcpy(grid, descriptor + format.cooperative, sizeof(grid));
	uint64_t blocks = uint64_t{grid[0]} * grid[1] * grid[2];
	unsigned sms =
		SMS_PER_TPC * static_cast<unsigned>(128 - std::popcount(mask.bits[0]) - std::popcount(mask.bits[1]));
	if (flags & CLUSTERS || !blocks || blocks > sms)
		refuse_cooperative(blocks, flags & CLUSTERS ? "clusters" : "blocks", sms);
}

// The driver admits a cluster that some GPC of the whole GPU holds.
void check_clusters(const DescriptorFormat &format, const unsigned char *descriptor, const LaunchMask &mask)
{
	constexpr unsigned SIZE = 0x3f;
	unsigned blocks = 1;

	if (mask.cluster == ANY_CLUSTER)
		return;
	for (size_t axis = 0; axis < 3; axis++)
		blocks *= descriptor[format.cluster + axis] & SIZE;
	if (format.has_large) {
		unsigned large = descriptor[format.cluster + 3];
		blocks = std::max(blocks, ((large & 0xf) + 1) * ((large >> 4) + 1));
	}
	if (!blocks)
		give_up("a launch has clusters of an unknown size");
	if (blocks > mask.cluster)
		refuse_cluster(blocks, mask.cluster);
}

// Of launches that are not ordinary ones: ends the program if blocks could wait for ever.
[[gnu::noinline]] void check_waiting(const DescriptorFormat &format, const unsigned char *descriptor, uint32_t flags,
				     const LaunchMask &mask)
{
	uint32_t type = (flags & format.type_mask) >> TYPE_SHIFT;
	char why[100];

	if (type == TYPE_COOPERATIVE)
		return check_cooperative(format, descriptor, flags, mask);
	if (type == TYPE_GRID)
		return check_clusters(format, descriptor, mask);
	std::snprintf(why, sizeof(why), "a launch has a descriptor of type %u, and what a mask does to it is unknown",
		      type);
	give_up(why);
}

// Bits 64 to 71 of a mask of 72 bits are in another word than the others, in two fields.
void write_ext(const DescriptorFormat &format, unsigned char *descriptor, uint64_t high)
{
	constexpr uint32_t LOWER = (1U << EXT_LOWER_BITS) - 1, UPPER = (1U << EXT_UPPER_BITS) - 1;
	auto bits = static_cast<uint32_t>(high);
	uint32_t word = 0;

	std::memcpy(&word, descriptor + format.ext_at, sizeof(word));
	word &= ~(LOWER << EXT_LOWER_SHIFT | UPPER << EXT_UPPER_SHIFT);
	word |= (bits & LOWER) << EXT_LOWER_SHIFT | (bits >> EXT_LOWER_BITS & UPPER) << EXT_UPPER_SHIFT;
	std::memcpy(descriptor + format.ext_at, &word, sizeof(word));
}

void write_mask(const DescriptorFormat &format, unsigned char *descriptor, const LaunchMask &mask)
{
	uint32_t flags = 0;

	if (format.valid) {
		std::memcpy(&flags, descriptor + format.flags_at, sizeof(flags));
		if ((flags & format.type_mask) != TYPE_GRID << TYPE_SHIFT)
			check_waiting(format, descriptor, flags, mask);
		std::memcpy(descriptor + format.mask_at, mask.bits.data(), sizeof(mask.bits));
		flags |= format.valid;
		std::memcpy(descriptor + format.flags_at, &flags, sizeof(flags));
		return;
	}
	std::memcpy(descriptor + format.mask_at, mask.bits.data(), sizeof(mask.bits[0]));
	if (format.ext_at)
		write_ext(format, descriptor, mask.bits[1]);
}

void before_upload(void *, int, int, const void *in)
{
	Masks &all = masks();
	ThreadState &my = thread_state;
	uint32_t bytes = 0;
	LaunchMask next;
	const LaunchMask *mask = &next;

	if (void (*call)() = all.before_launch.load(std::memory_order_acquire))
		call();
	std::memcpy(&bytes, in, sizeof(bytes));
	unsigned char *descriptor = bytes < (DESCRIPTOR + 1) * sizeof(void *)
					    ? nullptr
					    : static_cast<unsigned char *const *>(in)[DESCRIPTOR];
	my.seen.launches++;
	my.seen.descriptor = descriptor;
	my.seen.version = descriptor ? descriptor[VERSION_AT] : uint8_t{0};
	my.seen.version_5 = descriptor ? descriptor[VERSION_5_AT] : uint8_t{0};
	my.seen.context = descriptor ? static_cast<void *const *>(in)[CONTEXT] : nullptr;
	if (my.next) {
		next = *my.next;
		my.next.reset();
	} else {
		mask = all.by_descriptor.load(std::memory_order_acquire)->find(descriptor);
		if (!mask)
			mask = global_mask(all);
		if (!mask && all.unmasked_refused.load(std::memory_order_acquire))
			give_up("a launch has no mask of its own or of its stream, and the global mask disables all "
				"TPCs");
		if (!mask)
			return;
	}
	count_launch(all);
	const DescriptorFormat &format = *all.format.load(std::memory_order_acquire);
	if (!descriptor || descriptor[format.version_at] != format.version()) {
		char why[80];
		std::snprintf(why, sizeof(why), "a launch has a descriptor of version %#x, not %#x",
			      descriptor ? unsigned{descriptor[format.version_at]} : 0U, unsigned{format.version()});
		give_up(why);
	}
	check_gpu(all, my.seen.context);
	write_mask(format, descriptor, *mask);
}

} // namespace

const char *subscribe(void *libcuda)
{
	Driver &driver = masks().driver;
	int (*get)(const void **, const void *) = nullptr;
	const void *table = nullptr;
	uint32_t handle = 0;

	if (!find_symbol(libcuda, "cuGetExportTable", get) || get(&table, TABLE) || !table ||
	    *static_cast<const size_t *>(table) <= ENABLE * sizeof(void *))
		return "this driver has no callback before a launch";
	if (!find_symbol(libcuda, "cuCtxGetCurrent", driver.current) ||
	    !find_symbol(libcuda, "cuCtxPushCurrent_v2", driver.push) ||
	    !find_symbol(libcuda, "cuCtxPopCurrent_v2", driver.pop) ||
	    !find_symbol(libcuda, "cuCtxGetDevice", driver.device) ||
	    !find_symbol(libcuda, "cuDeviceGetUuid", driver.uuid))
		return "this driver does not report the GPU of a launch";
	void *const *entries = static_cast<void *const *>(table);
	auto subscribe = reinterpret_cast<int (*)(uint32_t *, Callback, void *)>(entries[SUBSCRIBE]);
	auto enable = reinterpret_cast<int (*)(uint32_t, uint32_t, int, int)>(entries[ENABLE]);
	if (subscribe(&handle, before_upload, nullptr) || enable(1, handle, DOMAIN, BEFORE_UPLOAD))
		return "the driver refuses its callback before a launch (one subscriber at a time: a profiler, or "
		       "gpulens run?)";
	return nullptr;
}

void before_launch(void (*call)())
{
	masks().before_launch.store(call, std::memory_order_release);
}

void restrict_to_gpu(const GpuUuid &gpu)
{
	masks().gpu = gpu;
}

void use_format(const DescriptorFormat &format)
{
	masks().format.store(&format, std::memory_order_release);
}

void set_next(const std::optional<LaunchMask> &mask)
{
	thread_state.next = mask;
}

std::optional<LaunchMask> take_next()
{
	return std::exchange(thread_state.next, std::nullopt);
}

void set_of_descriptor(const void *descriptor, const std::optional<LaunchMask> &mask)
{
	Masks &all = masks();
	std::lock_guard<std::mutex> hold(all.lock);
	const LaunchMask *kept = mask ? &*all.all.insert(*mask).first : nullptr;

	if (all.tables.back()->set(descriptor, kept))
		return;
	all.tables.push_back(all.tables.back()->grown());
	all.tables.back()->set(descriptor, kept);
	all.by_descriptor.store(all.tables.back().get(), std::memory_order_release);
}

void set_global(const LaunchMask &mask)
{
	Masks &all = masks();
	std::lock_guard<std::mutex> hold(all.lock);

	all.global.store(&*all.all.insert(mask).first, std::memory_order_release);
	all.unmasked_refused.store(false, std::memory_order_release);
}

void refuse_unmasked()
{
	masks().unmasked_refused.store(true, std::memory_order_release);
	masks().global.store(nullptr, std::memory_order_release);
}

bool is_unmasked_refused()
{
	return masks().unmasked_refused.load(std::memory_order_acquire);
}

Seen seen()
{
	return thread_state.seen;
}

void count_into(uint64_t *masked)
{
	masks().masked.store(masked, std::memory_order_release);
}

void watch_requests(const uint32_t *asked, uint32_t (*take)())
{
	Masks &all = masks();

	all.asked.store(nullptr, std::memory_order_release);
	all.answered.store(0, std::memory_order_release);
	all.take.store(take, std::memory_order_release);
	all.asked.store(asked, std::memory_order_release);
}

void on_uncounted(void (*begin)())
{
	masks().uncounted.store(begin, std::memory_order_release);
}

} // namespace hook
} // namespace gpulens
