// SPDX-License-Identifier: GPL-2.0
// See turn_file.hpp. Each process holds a shared lock (flock) on the file while it has it open. A new file gets its name
// when it is complete, and is replaced under an exclusive lock only.
#include "lib/turns/turn_file.hpp"

#include "lib/base/errors.hpp"
#include "lib/base/file.hpp"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <fmt/format.h>
#include <new>
#include <optional>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

namespace tool::turns {

namespace {

constexpr int TRIES = 200; // of a file that other processes replace meanwhile
constexpr useconds_t BETWEEN_TRIES = 5000;

std::atomic<u64> fork_count, file_count;

[[noreturn]] void refuse(const std::string &path, const std::string &reason)
{
	throw Error(Error::Source, fmt::format("{}: {}", path, reason));
}

class Descriptor {
public:
	explicit Descriptor(int fd) : fd_(fd) {}
	Descriptor(const Descriptor &) = delete;
	Descriptor &operator=(const Descriptor &) = delete;
	~Descriptor()
	{
		if (fd_ >= 0)
			close(fd_);
	}
	int get() const { return fd_; }
	int release() { return std::exchange(fd_, -1); }

private:
	int fd_;
};

void check_owner(const struct stat &about, const std::string &path)
{
	if (about.st_uid != geteuid())
		refuse(path, "it belongs to another user");
	if (about.st_mode & (S_IRWXG | S_IRWXO))
		refuse(path, "other users may use it; remove their rights (chmod go-rwx)");
}

const char *variable_of(const char *name)
{
	const char *value = secure_getenv(name);

	return value && *value ? value : nullptr;
}

// Returns XDG_RUNTIME_DIR if that is another user's, as it is after su; else nullptr.
const char *foreign_folder()
{
	const char *value = variable_of("XDG_RUNTIME_DIR");
	struct stat about {};

	return value && !stat(value, &about) && about.st_uid != geteuid() ? value : nullptr;
}

std::string explain_folder(int err, const std::string &path, bool writing)
{
	std::string text = explain_file(err, path, writing);

	if (const char *foreign = variable_of("GPULENS_RUNTIME_DIR") ? nullptr : foreign_folder())
		text += fmt::format("; XDG_RUNTIME_DIR ({}) is not used, as it belongs to another user: log in as this "
				    "user, or set GPULENS_RUNTIME_DIR to a folder of this user",
				    foreign);
	return text;
}

int open_folder(const std::string &path, bool create)
{
	if (create && mkdir(path.c_str(), S_IRWXU) && errno != EEXIST)
		throw Error(Error::Source, explain_folder(errno, path, true));
	Descriptor folder(::open(path.c_str(), O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
	struct stat about {};
	if (folder.get() < 0) {
		if (!create && errno == ENOENT)
			return -1;
		throw Error(Error::Source, explain_folder(errno, path, false));
	}
	if (fstat(folder.get(), &about))
		throw Error(Error::Source, explain_file(errno, path));
	check_owner(about, path);
	return folder.release();
}

u64 digest_of(const Rules &rules)
{
	std::string text = fmt::format("{} {} {}\n", u64(rules.order), rules.queues, rules.identity);

	for (const TaskRules &task : rules.tasks)
		text += fmt::format("{} {} {} {}\n", task.name, task.queue, task.time, task.deadline);
	u64 digest = 0xcbf29ce484222325ULL; // FNV-1a, 64 bits
	for (unsigned char c : text)
		digest = (digest ^ c) * 0x100000001b3ULL;
	return digest;
}

size_t size_of(const Rules &rules)
{
	return sizeof(Header) + rules.queues * sizeof(Queue) + rules.tasks.size() * sizeof(Task);
}

// The header that a file of these rules has now, on this machine.
Header header_of(const Rules &rules)
{
	Header header{.magic = MAGIC,
		      .size = size_of(rules),
		      .order = static_cast<u64>(rules.order),
		      .queues = rules.queues,
		      .tasks = rules.tasks.size(),
		      .digest = digest_of(rules),
		      .pid_namespace = 0,
		      .boot = {}};
	struct stat about {};
	std::string boot;

	if (stat("/proc/self/ns/pid", &about))
		throw Error(Error::Source, explain_file(errno, "/proc/self/ns/pid"));
	header.pid_namespace = about.st_ino;
	if (int err = read_path("/proc/sys/kernel/random/boot_id", boot))
		throw Error(Error::Source, explain_file(err, "/proc/sys/kernel/random/boot_id"));
	memcpy(header.boot, boot.data(), std::min(boot.size(), sizeof(header.boot) - 1));
	return header;
}

void make_mutex(pthread_mutex_t &mutex, int protocol)
{
	pthread_mutexattr_t kind;

	pthread_mutexattr_init(&kind);
	pthread_mutexattr_setpshared(&kind, PTHREAD_PROCESS_SHARED);
	pthread_mutexattr_setrobust(&kind, PTHREAD_MUTEX_ROBUST);
	int err = pthread_mutexattr_setprotocol(&kind, protocol);
	if (!err)
		err = pthread_mutex_init(&mutex, &kind);
	pthread_mutexattr_destroy(&kind);
	if (err)
		throw Error(Error::Unsupported,
			    fmt::format("this system has no robust mutexes with priority inheritance ({})",
					strerrorname_np(err)));
}

// The bytes are zeros.
void fill_file(unsigned char *bytes, const Rules &rules, const Header &header)
{
	auto *queues = reinterpret_cast<Queue *>(bytes + sizeof(Header));
	auto *tasks = reinterpret_cast<Task *>(queues + rules.queues);

	for (u32 i = 0; i < rules.queues; i++) {
		make_mutex(queues[i].guard, PTHREAD_PRIO_INHERIT);
		queues[i].slots = queues[i].wanted_slots = rules.slots;
		for (Entry &entry : queues[i].entries)
			make_mutex(entry.alive, PTHREAD_PRIO_NONE);
	}
	for (size_t i = 0; i < rules.tasks.size(); i++) {
		const TaskRules &from = rules.tasks[i];
		memcpy(tasks[i].name, from.name.data(), std::min(from.name.size(), NAME_BYTES - 1));
		tasks[i].queue = from.queue;
		tasks[i].time = from.time;
		tasks[i].deadline = from.deadline;
	}
	memcpy(bytes, &header, sizeof(header));
}

// Makes a file without a name, fills it, and gives it the name; if another process was faster, its file stays.
void create_file(int folder, const std::string &name, const std::string &path, const Rules &rules)
{
	Header header = header_of(rules);
	Descriptor file(openat(folder, ".", O_TMPFILE | O_RDWR | O_CLOEXEC, S_IRUSR | S_IWUSR));

	if (file.get() < 0 || fchmod(file.get(), S_IRUSR | S_IWUSR))
		refuse(path, fmt::format("no file can be made there ({})", strerrorname_np(errno)));
	// Not sparse: a store to a full file system would be a SIGBUS.
	if (int err = posix_fallocate(file.get(), 0, off_t(header.size)))
		refuse(path,
		       fmt::format("no file of {} bytes can be made there ({})", header.size, strerrorname_np(err)));
	void *bytes = mmap(nullptr, header.size, PROT_READ | PROT_WRITE, MAP_SHARED, file.get(), 0);
	if (bytes == MAP_FAILED)
		refuse(path, fmt::format("it cannot be mapped ({})", strerrorname_np(errno)));
	fill_file(static_cast<unsigned char *>(bytes), rules, header);
	munmap(bytes, header.size);
	if (linkat(AT_FDCWD, fmt::format("/proc/self/fd/{}", file.get()).c_str(), folder, name.c_str(),
		   AT_SYMLINK_FOLLOW) &&
	    errno != EEXIST)
		refuse(path, fmt::format("no file can be made there ({})", strerrorname_np(errno)));
}

bool has_name(int fd, int folder, const std::string &name)
{
	struct stat mine {
	}, named{};

	return !fstat(fd, &mine) && !fstatat(folder, name.c_str(), &named, AT_SYMLINK_NOFOLLOW) &&
	       mine.st_dev == named.st_dev && mine.st_ino == named.st_ino;
}

bool lock_file(int fd, int how)
{
	int err;

	while ((err = flock(fd, how)) && errno == EINTR)
		;
	return !err;
}

// Returns how the file differs from one of these rules, this start of the machine and this namespace of processes; empty:
// it does not.
std::string find_difference(int fd, const std::string &path, const Rules &rules)
{
	Header wanted = header_of(rules), found{};
	struct stat about {};

	if (fstat(fd, &about))
		throw Error(Error::Source, explain_file(errno, path));
	if (!S_ISREG(about.st_mode))
		refuse(path, "it is not a file");
	check_owner(about, path);
	if (pread(fd, &found, sizeof(found), 0) != sizeof(found) || found.magic != wanted.magic)
		return "is of another version of gpulens";
	if (memcmp(found.boot, wanted.boot, sizeof(found.boot)))
		return "is of an earlier start of this machine";
	if (found.pid_namespace != wanted.pid_namespace)
		return "is used in another namespace of process ids (a container's)";
	if (!(found == wanted))
		return "is of another plan";
	return u64(about.st_size) == found.size ? "" : "is cut short";
}

std::string path_of(const std::string &name)
{
	return runtime_folder() + "/" + name;
}

} // namespace

std::string runtime_folder()
{
	if (const char *own = variable_of("GPULENS_RUNTIME_DIR"))
		return own;
	if (const char *session = foreign_folder() ? nullptr : variable_of("XDG_RUNTIME_DIR"))
		return std::string(session) + "/gpulens";
	return geteuid() ? fmt::format("/run/user/{}/gpulens", geteuid()) : "/run/gpulens";
}

std::string make_runtime_folder()
{
	Descriptor folder(open_folder(runtime_folder(), true));

	return runtime_folder();
}

std::string own_runtime_folder()
{
	try {
		return Descriptor(open_folder(runtime_folder(), false)).get() < 0 ? "" : runtime_folder();
	} catch (const Error &) {
		return "";
	}
}

u64 forks()
{
	static const bool registered = !pthread_atfork(nullptr, nullptr, [] { fork_count++; });

	static_cast<void>(registered);
	return fork_count.load(std::memory_order_relaxed);
}

TurnFile::TurnFile(std::string path, int fd, unsigned char *bytes, size_t size)
	: path_(std::move(path)), fd_(fd), bytes_(bytes), size_(size), id_(++file_count), process_(u64(getpid())),
	  queues_(header().queues), tasks_(header().tasks), forks_(forks()),
	  begun_(std::make_unique<std::atomic<u64>[]>(queues_))
{
	struct stat about {};

	if (!fstat(fd_, &about))
		identity_ = {about.st_dev, about.st_ino};
}

TurnFile::~TurnFile()
{
	bool used = false;
	const Queue *queues = reinterpret_cast<Queue *>(bytes_ + sizeof(Header));

	if (forks_ == forks())
		for (u64 i = 0; i < queues_; i++)
			for (u32 n = 0; n < MAX_ENTRIES; n++) {
				const Entry &entry = queues[i].entries[n];
				used = used || (begun_[i] >> n & 1 && entry.state != FREE && entry.process == process_);
			}
	if (used) // the C library has a list of the mutexes that its threads hold, so they must stay where they are
		return;
	munmap(bytes_, size_);
	close(fd_);
}

std::unique_ptr<TurnFile> TurnFile::open(const std::string &name, const Rules &rules)
{
	std::string path = path_of(name);
	Descriptor folder(open_folder(runtime_folder(), true));

	for (int i = 0; i < TRIES; i++) {
		Descriptor file(
			openat(folder.get(), name.c_str(), O_RDWR | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
		if (file.get() < 0 && errno == ENOENT) {
			create_file(folder.get(), name, path, rules);
			continue;
		}
		if (file.get() < 0 || !lock_file(file.get(), LOCK_SH))
			throw Error(Error::Source, explain_file(errno, path));
		if (!has_name(file.get(), folder.get(), name))
			continue;
		if (find_difference(file.get(), path, rules).empty()) {
			size_t size = size_of(rules);
			void *bytes = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, file.get(), 0);
			if (bytes == MAP_FAILED)
				refuse(path, fmt::format("it cannot be mapped ({})", strerrorname_np(errno)));
			return std::unique_ptr<TurnFile>(
				new TurnFile(path, file.release(), static_cast<unsigned char *>(bytes), size));
		}
		if (!lock_file(file.get(), LOCK_EX | LOCK_NB))
			usleep(BETWEEN_TRIES);
		else if (has_name(file.get(), folder.get(), name))
			unlinkat(folder.get(), name.c_str(), 0);
	}
	throw Error(Error::Taken, fmt::format("{}: other processes use it by another plan, or in another namespace of "
					      "process ids (a container's)",
					      path));
}

std::unique_ptr<TurnFile> TurnFile::open_to_read(const std::string &name, const Rules &rules, std::string &why)
{
	std::string path = path_of(name);
	Descriptor folder(open_folder(runtime_folder(), false));

	why = fmt::format("there is no {}", path);
	if (folder.get() < 0)
		return nullptr;
	Descriptor file(openat(folder.get(), name.c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
	if (file.get() < 0 && errno == ENOENT)
		return nullptr;
	if (file.get() < 0)
		throw Error(Error::Source, explain_file(errno, path));
	if (std::string difference = find_difference(file.get(), path, rules); !difference.empty()) {
		why = fmt::format("{} {}", path, difference);
		return nullptr;
	}
	size_t size = size_of(rules);
	void *bytes = mmap(nullptr, size, PROT_READ, MAP_SHARED, file.get(), 0);
	if (bytes == MAP_FAILED)
		refuse(path, fmt::format("it cannot be mapped ({})", strerrorname_np(errno)));
	return std::unique_ptr<TurnFile>(new TurnFile(path, file.release(), static_cast<unsigned char *>(bytes), size));
}

Queue &TurnFile::queue(u64 index) const
{
	if (index >= queues_)
		refuse_damage();
	return reinterpret_cast<Queue *>(bytes_ + sizeof(Header))[index];
}

Task &TurnFile::task(u64 index) const
{
	if (index >= tasks_)
		refuse_damage();
	return reinterpret_cast<Task *>(bytes_ + sizeof(Header) + queues_ * sizeof(Queue))[index];
}

Word &TurnFile::word(u64 offset) const
{
	if (offset % sizeof(Word) || offset < sizeof(Header) || offset > size_ - sizeof(Word))
		refuse_damage();
	return *reinterpret_cast<Word *>(bytes_ + offset);
}

u64 TurnFile::offset(const Word &word) const
{
	return u64(reinterpret_cast<const unsigned char *>(&word) - bytes_);
}

void TurnFile::check_process() const
{
	if (forks_ != forks())
		throw Error(Error::NotOwner, "it was opened before fork(); a child must open it again");
}

bool TurnFile::is_there() const
{
	return has_name(fd_, AT_FDCWD, path_);
}

TurnFile::Alone TurnFile::run_alone(const std::function<void()> &change) const
{
	bool alone = lock_file(fd_, LOCK_EX | LOCK_NB);

	if (alone)
		change();
	// The kernel releases a lock before it changes its kind, and others may replace the file in between.
	if (!lock_file(fd_, LOCK_SH))
		throw Error(Error::Source, explain_file(errno, path_));
	if (!is_there())
		return Alone::Replaced;
	return alone ? Alone::Done : Alone::Shared;
}

void TurnFile::set_begun(u64 queue, const Entry &entry, bool begun) const
{
	static_assert(MAX_ENTRIES <= 64);
	u64 bit = 1ULL << (&entry - this->queue(queue).entries);

	if (begun)
		begun_[queue].fetch_or(bit, std::memory_order_relaxed);
	else
		begun_[queue].fetch_and(~bit, std::memory_order_relaxed);
}

void TurnFile::refuse_damage() const
{
	throw Error(Error::Failed, path_ + ": it is damaged; end the programs that use it, and remove it");
}

} // namespace tool::turns
