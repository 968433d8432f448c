// SPDX-License-Identifier: GPL-2.0
// Recorded GPUs.
#pragma once
#include "lib/model/model.hpp"
#include "lib/source/image/image.hpp"

#include <string>

namespace tool {

// An image from a file's bytes. Throws Error, which names the file and the line.
Image image_of(const std::string &bytes, const std::string &name);
// A whole GPU decoded by the core from a recorded image. What could not be decoded is in its failures.
Gpu from_image(const Image &image, const std::string &source);
// Of a file with an image or a snapshot. Throws Error, which names the file.
Gpu from_bytes(const std::string &bytes, const std::string &name);

} // namespace tool
