// SPDX-License-Identifier: GPL-2.0
// Encodes items as variable-length numbers, and writes and reads the file.
#include "lib/timeline/timeline_store.hpp"

#include "lib/base/errors.hpp"
#include "lib/base/file.hpp"
#include "lib/base/write_fully.hpp"
#include "lib/timeline/timeline.hpp"

#include <cerrno>
#include <cstdlib>
#include <fcntl.h>
#include <unistd.h>

namespace tool {

namespace {

// Numbers are LEB128: 7 bits a byte, the lowest first.
void put_number(std::string &bytes, u64 n)
{
	for (; n >= 0x80; n >>= 7)
		bytes += static_cast<char>(n | 0x80);
	bytes += static_cast<char>(n);
}

u64 take_number(const char *&in)
{
	u64 n = 0;

	for (unsigned shift = 0;; shift += 7) {
		u64 byte = static_cast<unsigned char>(*in++);
		n |= (byte & 0x7f) << shift;
		if (byte < 0x80)
			return n;
	}
}

// Ids are LENS_NONE (-1) or small, so id + 1 is short.
void put_id(std::string &bytes, int id)
{
	put_number(bytes, static_cast<u32>(id) + 1);
}

int take_id(const char *&in)
{
	return static_cast<int>(static_cast<u32>(take_number(in)) - 1);
}

enum : unsigned char { BARE = 1 << 2, CONTINUES = 1 << 3, FOLLOWS = 1 << 4 };

// before: the previous item of the block; all zeros for the first. Times of a damaged recording may go back: unsigned
// differences wrap, and decoding restores them exactly.
void encode_item(std::string &bytes, const Interval &i, const Interval &before)
{
	bool follows = i.start_ns == before.end_ns;

	bytes += static_cast<char>(static_cast<int>(i.phase) | (i.bare ? BARE : 0) | (i.continues ? CONTINUES : 0) |
				   (follows ? FOLLOWS : 0));
	if (!follows)
		put_number(bytes, i.start_ns - before.end_ns);
	put_number(bytes, i.end_ns - i.start_ns);
	put_id(bytes, i.tsg);
	put_id(bytes, i.channel);
	put_number(bytes, i.samples);
	put_number(bytes, i.busy);
}

void decode_item(const char *&in, Interval &i, const Interval &before)
{
	auto flags = static_cast<unsigned char>(*in++);

	i.phase = static_cast<Phase>(flags & 3);
	i.bare = flags & BARE;
	i.continues = flags & CONTINUES;
	i.start_ns = before.end_ns + (flags & FOLLOWS ? 0 : take_number(in));
	i.end_ns = i.start_ns + take_number(in);
	i.tsg = take_id(in);
	i.channel = take_id(in);
	i.samples = static_cast<u32>(take_number(in));
	i.busy = static_cast<u32>(take_number(in));
}

void encode_item(std::string &bytes, const SampleGap &g, const SampleGap &before)
{
	put_number(bytes, g.from_ns - before.to_ns);
	put_number(bytes, g.to_ns - g.from_ns);
	put_number(bytes, g.lost);
}

void decode_item(const char *&in, SampleGap &g, const SampleGap &before)
{
	g.from_ns = before.to_ns + take_number(in);
	g.to_ns = g.from_ns + take_number(in);
	g.lost = take_number(in);
}

void encode_item(std::string &bytes, const DroppedTicks &g, const DroppedTicks &before)
{
	put_number(bytes, g.time_ns - before.time_ns);
	put_number(bytes, g.ticks);
	put_number(bytes, static_cast<u32>(g.kind));
}

void decode_item(const char *&in, DroppedTicks &g, const DroppedTicks &before)
{
	g.time_ns = before.time_ns + take_number(in);
	g.ticks = static_cast<u32>(take_number(in));
	g.kind = static_cast<int>(take_number(in));
}

// Returns a file descriptor, or -1 with errno.
int open_unnamed_file(const std::string &folder)
{
	int fd = ::open(folder.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);

	// These errors mean that the file system does not support O_TMPFILE.
	if (fd < 0 && (errno == EOPNOTSUPP || errno == EISDIR || errno == EINVAL)) {
		std::string name = folder + "/gpulens-XXXXXX";
		fd = mkostemp(name.data(), O_CLOEXEC);
		if (fd >= 0)
			unlink(name.c_str());
	}
	return fd;
}

} // namespace

TimelineStore::TimelineStore(std::string folder, size_t block_items)
	: folder_(folder.empty() ? "/var/tmp" : std::move(folder)), block_items_(block_items)
{
}

TimelineStore::~TimelineStore()
{
	if (fd_ >= 0)
		close(fd_);
}

void TimelineStore::fail(int err) const
{
	throw Error(Error::Source, explain_file(err, folder_ + ": the timeline's temporary file"));
}

// Falls back to /var/tmp, not to /tmp, which may be in memory.
void TimelineStore::open()
{
	fd_ = open_unnamed_file(folder_);
	if (fd_ < 0 && folder_ != "/var/tmp") {
		folder_ = "/var/tmp";
		fd_ = open_unnamed_file(folder_);
	}
	if (fd_ < 0)
		fail(errno);
}

template <typename T> StoreBlock TimelineStore::put(const std::vector<T> &items)
{
	std::string bytes;
	T before{};

	if (fd_ < 0)
		open();
	for (const T &item : items) {
		encode_item(bytes, item, before);
		before = item;
	}
	int err = write_fully_at(fd_, bytes, static_cast<off_t>(end_));
	if (err)
		fail(err);
	StoreBlock block{end_, static_cast<u32>(bytes.size()), static_cast<u32>(items.size())};
	end_ += bytes.size();
	return block;
}

template <typename T> void TimelineStore::get(const StoreBlock &block, std::vector<T> &items) const
{
	std::string bytes(block.bytes, 0);
	T before{};

	for (size_t done = 0; done < bytes.size();) {
		ssize_t n =
			pread(fd_, bytes.data() + done, bytes.size() - done, static_cast<off_t>(block.offset + done));
		if (n <= 0 && !(n < 0 && errno == EINTR))
			fail(n ? errno : EIO);
		done += n > 0 ? static_cast<size_t>(n) : 0;
	}
	items.resize(block.count);
	const char *in = bytes.data();
	for (T &item : items) {
		decode_item(in, item, before);
		before = item;
	}
}

template StoreBlock TimelineStore::put(const std::vector<Interval> &items);
template StoreBlock TimelineStore::put(const std::vector<SampleGap> &items);
template StoreBlock TimelineStore::put(const std::vector<DroppedTicks> &items);
template void TimelineStore::get(const StoreBlock &block, std::vector<Interval> &items) const;
template void TimelineStore::get(const StoreBlock &block, std::vector<SampleGap> &items) const;
template void TimelineStore::get(const StoreBlock &block, std::vector<DroppedTicks> &items) const;

} // namespace tool
