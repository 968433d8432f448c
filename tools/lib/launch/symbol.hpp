// SPDX-License-Identifier: GPL-2.0
// Functions of a library that was loaded with dlopen.
#pragma once
#include <dlfcn.h>

namespace gpulens {

// False: the library has no such function.
template <typename F> bool find(void *library, const char *name, F &to)
{
	to = reinterpret_cast<F>(dlsym(library, name));
	return to;
}

} // namespace gpulens
