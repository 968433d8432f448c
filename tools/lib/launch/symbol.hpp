// SPDX-License-Identifier: GPL-2.0
// Functions of a library that dlopen(3) loaded.
#pragma once
#include <dlfcn.h>

namespace gpulens {

// False: the library has no such function.
template <typename F> bool find(void *library, const char *name, F &function)
{
	function = reinterpret_cast<F>(dlsym(library, name));
	return function;
}

} // namespace gpulens
