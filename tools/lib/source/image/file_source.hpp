// SPDX-License-Identifier: GPL-2.0
// A file with an image or a snapshot, as a source of one GPU.
#pragma once
#include "lib/source/source.hpp"

namespace tool {

class FileSource : public Source {
public:
	// file: "-" is standard input, which can be read once.
	explicit FileSource(std::string file) : file_(std::move(file)) {}

	std::vector<unsigned> numbers() const override { return {0}; }
	std::vector<Gpu> gpus(const std::vector<unsigned> &numbers) const override;

private:
	std::string file_;
};

} // namespace tool
