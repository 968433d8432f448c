// SPDX-License-Identifier: GPL-2.0
// Loads recorded GPUs.
#pragma once
#include "lib/model/model.hpp"
#include "lib/source/image/image.hpp"

#include <string>

namespace tool {

// Parses an image. Throws Error, which names the file and the line.
Image image_of(const std::string &bytes, const std::string &name);
// Decodes an image. Parts that cannot be decoded are in the failures. source: the name of the file.
Gpu from_image(const Image &image, const std::string &source);
// Decodes a file with an image or a snapshot. Throws Error, which names the file.
Gpu from_bytes(const std::string &bytes, const std::string &name);

} // namespace tool
