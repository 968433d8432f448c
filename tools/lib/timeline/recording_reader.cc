// SPDX-License-Identifier: GPL-2.0
// Input may end anywhere: only an incomplete head waits in pending_, all other bytes go to a builder at once. The first four
// bytes decide whether the recording is of several GPUs.
#include "lib/timeline/recording_reader.hpp"

#include "lib/base/errors.hpp"

#include <algorithm>
#include <cstring>
#include <endian.h>
#include <fmt/format.h>

namespace tool {

namespace {

constexpr char MAGIC[4] = {'G', 'P', 'L', 'R'};
constexpr u16 VERSION = 1;

struct Head {
	char magic[4];
	u16 version;     // little-endian, as all numbers
	u16 piece_bytes; // of a struct Piece
	u32 gpus;
	u8 reserved[20];
};

struct Piece {
	u32 place; // of the GPU, below Head::gpus
	u32 bytes; // that follow, of its stream
};

static_assert(sizeof(Head) == 32 && sizeof(Piece) == 8);

template <typename T> std::string bytes_of(const T &t)
{
	return {reinterpret_cast<const char *>(&t), sizeof(t)};
}

} // namespace

std::string recording_head(u32 gpus)
{
	Head head{};

	std::memcpy(head.magic, MAGIC, sizeof(MAGIC));
	head.version = htole16(VERSION);
	head.piece_bytes = htole16(sizeof(Piece));
	head.gpus = htole32(gpus);
	return gpus == 1 ? "" : bytes_of(head);
}

std::string piece_head(u32 gpus, u32 place, u32 bytes)
{
	return gpus == 1 ? "" : bytes_of(Piece{htole32(place), htole32(bytes)});
}

// Returns false if more bytes are needed.
bool RecordingReader::take_head()
{
	Head head;
	u32 gpus = 1;

	if (pending_.size() < sizeof(MAGIC))
		return false;
	several_ = pending_.compare(0, sizeof(MAGIC), MAGIC, sizeof(MAGIC)) == 0;
	if (several_) {
		if (pending_.size() < sizeof(head))
			return false;
		std::memcpy(&head, pending_.data(), sizeof(head));
		gpus = le32toh(head.gpus);
		if (le16toh(head.version) != VERSION || le16toh(head.piece_bytes) != sizeof(Piece))
			throw Error(Error::Source, "a recording of a newer layout");
		if (!gpus || gpus > MAX_RECORDED_GPUS)
			throw Error(Error::Source, fmt::format("a recording of {} GPUs", gpus));
		pending_.erase(0, sizeof(head));
	}
	builders_.reserve(gpus);
	for (u32 i = 0; i < gpus; i++)
		builders_.emplace_back(make_store_());
	return true;
}

void RecordingReader::feed(std::string_view bytes)
{
	if (!builders_.empty() && !several_)
		return builders_[0].feed(bytes);
	pending_ += bytes;
	if (builders_.empty() && !take_head())
		return;
	size_t at = 0;
	while (at < pending_.size()) {
		std::string_view rest = std::string_view(pending_).substr(at);
		if (!several_) {
			builders_[0].feed(rest);
			at = pending_.size();
		} else if (piece_left_) {
			size_t n = std::min(rest.size(), piece_left_);
			builders_[place_].feed(rest.substr(0, n));
			piece_left_ -= n;
			at += n;
		} else if (rest.size() < sizeof(Piece)) {
			break;
		} else {
			Piece piece;
			std::memcpy(&piece, rest.data(), sizeof(piece));
			place_ = le32toh(piece.place);
			piece_left_ = le32toh(piece.bytes);
			if (place_ >= builders_.size())
				throw Error(Error::Source, fmt::format("a piece is of GPU {}, of which there are {}",
								       place_, builders_.size()));
			at += sizeof(piece);
		}
	}
	pending_.erase(0, at);
}

std::vector<Timeline> RecordingReader::finish()
{
	std::vector<Timeline> timelines;

	if (builders_.empty())
		builders_.emplace_back();
	bool any = std::any_of(builders_.begin(), builders_.end(), [](const TimelineBuilder &b) { return b.begun(); });
	for (TimelineBuilder &builder : builders_)
		if (builder.begun() || !any) // none: it throws
			timelines.push_back(builder.finish());
	return timelines;
}

} // namespace tool
