// SPDX-License-Identifier: GPL-2.0
// Uploads textures through OpenGL ES on CUDA's device 0, by EGL without a display. Never run on a GPU so far.
#pragma once
#include "lab/experiment/device.hpp"

namespace tool::experiment {

// Uploads until stage.stop; sets stage.phase to 2 after the first uploads. Throws Error: what EGL or OpenGL lacks here.
void upload_textures(Stage &stage);

} // namespace tool::experiment
