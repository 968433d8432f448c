// SPDX-License-Identifier: GPL-2.0
// Constants are those of Khronos' egl.h, eglext.h and gl2.h. A texture is uploaded from the CPU's memory, as glTexSubImage2D
// does it; which copy engine does that is the driver's choice.
#include "lab/experiment/upload.hpp"

#include "lib/base/errors.hpp"
#include "lib/launch/symbol.hpp"

#include <cstring>
#include <dlfcn.h>
#include <fmt/format.h>
#include <vector>

namespace tool::experiment {

namespace {

constexpr unsigned PLATFORM_DEVICE_EXT = 0x313F, OPENGL_ES_API = 0x30A0;
constexpr int CUDA_DEVICE_NV = 0x323A, SURFACE_TYPE = 0x3033, PBUFFER_BIT = 1, RENDERABLE_TYPE = 0x3040,
	      OPENGL_ES2_BIT = 4, NONE = 0x3038, CONTEXT_CLIENT_VERSION = 0x3098, WIDTH = 0x3057, HEIGHT = 0x3056;
constexpr unsigned GL_VENDOR = 0x1F00, TEXTURE_2D = 0x0DE1, RGBA = 0x1908, UNSIGNED_BYTE = 0x1401;
constexpr int SIDE = 4096; // of a texture: 64 MiB
constexpr int MAX_DEVICES = 64;

// Functions of libEGL.so.1, and those that its eglGetProcAddress() returns.
class Egl {
public:
	Egl() : library_(dlopen("libEGL.so.1", RTLD_NOW))
	{
		if (!library_)
			throw Error(Error::Missing,
				    fmt::format("no texture can be uploaded: there is no libEGL.so.1 ({})", dlerror()));
		if (!gpulens::find_symbol(library_, "eglGetProcAddress", address_))
			throw Error(Error::Missing, "no texture can be uploaded: libEGL.so.1 has no eglGetProcAddress");
	}

	template <typename F> F find(const char *name) const
	{
		F function = nullptr;

		if (!gpulens::find_symbol(library_, name, function))
			function = reinterpret_cast<F>(address_(name));
		if (!function)
			throw Error(Error::Missing, fmt::format("no texture can be uploaded: EGL has no {}", name));
		return function;
	}

private:
	void *library_;
	void *(*address_)(const char *) = nullptr;
};

void require_done(bool done, const char *call)
{
	if (!done)
		throw Error(Error::Failed, fmt::format("no texture can be uploaded: {} failed", call));
}

// Returns EGL's device for CUDA's device 0.
void *find_device(const Egl &egl)
{
	auto list = egl.find<unsigned (*)(int, void **, int *)>("eglQueryDevicesEXT");
	auto attribute = egl.find<unsigned (*)(void *, int, intptr_t *)>("eglQueryDeviceAttribEXT");
	void *devices[MAX_DEVICES] = {};
	int count = 0;

	require_done(list(MAX_DEVICES, devices, &count), "eglQueryDevicesEXT");
	for (int i = 0; i < count; i++) {
		intptr_t number = -1;
		if (attribute(devices[i], CUDA_DEVICE_NV, &number) && !number)
			return devices[i];
	}
	throw Error(
		Error::Missing,
		fmt::format("no texture can be uploaded: none of EGL's {} devices is CUDA's device 0 (NVIDIA's libEGL "
			    "may be missing, or this GPU has no graphics)",
			    count));
}

// Makes a context of OpenGL ES 2 current in this thread.
void make_context(const Egl &egl)
{
	auto display_of = egl.find<void *(*)(unsigned, void *, const int *)>("eglGetPlatformDisplayEXT");
	auto initialize = egl.find<unsigned (*)(void *, int *, int *)>("eglInitialize");
	auto bind = egl.find<unsigned (*)(unsigned)>("eglBindAPI");
	auto choose = egl.find<unsigned (*)(void *, const int *, void **, int, int *)>("eglChooseConfig");
	auto make = egl.find<void *(*)(void *, void *, void *, const int *)>("eglCreateContext");
	auto surface_of = egl.find<void *(*)(void *, void *, const int *)>("eglCreatePbufferSurface");
	auto use = egl.find<unsigned (*)(void *, void *, void *, void *)>("eglMakeCurrent");
	const int wanted[] = {SURFACE_TYPE, PBUFFER_BIT, RENDERABLE_TYPE, OPENGL_ES2_BIT, NONE};
	const int version[] = {CONTEXT_CLIENT_VERSION, 2, NONE}, size[] = {WIDTH, 16, HEIGHT, 16, NONE};
	void *display = display_of(PLATFORM_DEVICE_EXT, find_device(egl), nullptr), *config = nullptr;
	int count = 0;

	require_done(display && initialize(display, nullptr, nullptr), "eglInitialize");
	require_done(bind(OPENGL_ES_API), "eglBindAPI");
	require_done(choose(display, wanted, &config, 1, &count) && count == 1, "eglChooseConfig");
	void *context = make(display, config, nullptr, version), *surface = surface_of(display, config, size);
	require_done(context && surface && use(display, surface, surface, context), "eglMakeCurrent");
}

} // namespace

void upload_textures(Stage &stage)
{
	Egl egl;
	make_context(egl);
	auto string = egl.find<const char *(*)(unsigned)>("glGetString");
	auto generate = egl.find<void (*)(int, unsigned *)>("glGenTextures");
	auto bind = egl.find<void (*)(unsigned, unsigned)>("glBindTexture");
	auto image =
		egl.find<void (*)(unsigned, int, int, int, int, int, unsigned, unsigned, const void *)>("glTexImage2D");
	auto part = egl.find<void (*)(unsigned, int, int, int, int, int, unsigned, unsigned, const void *)>(
		"glTexSubImage2D");
	auto finish = egl.find<void (*)()>("glFinish");
	auto error = egl.find<unsigned (*)()>("glGetError");
	std::vector<unsigned char> pixels(size_t{SIDE} * SIDE * 4);
	unsigned texture = 0;

	const char *vendor = string(GL_VENDOR);
	if (!vendor || !std::strstr(vendor, "NVIDIA"))
		throw Error(Error::Missing, fmt::format("no texture can be uploaded: OpenGL is of {}, not of NVIDIA",
							vendor ? vendor : "an unknown vendor"));
	generate(1, &texture);
	bind(TEXTURE_2D, texture);
	image(TEXTURE_2D, 0, RGBA, SIDE, SIDE, 0, RGBA, UNSIGNED_BYTE, nullptr);
	for (u32 i = 0; !stage.stop && !stage.failed; i++) {
		part(TEXTURE_2D, 0, 0, 0, SIDE, SIDE, RGBA, UNSIGNED_BYTE, pixels.data());
		finish();
		require_done(!error(), "glTexSubImage2D");
		if (i == 2)
			stage.phase = 2;
	}
}

} // namespace tool::experiment
