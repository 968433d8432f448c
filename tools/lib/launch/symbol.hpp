// SPDX-License-Identifier: GPL-2.0
// Looks up functions of a library that dlopen(3) loaded.
#pragma once
#include <dlfcn.h>

namespace gpulens {

// Sets function to a symbol of the library. Returns false if the library does not have it.
template <typename F> bool find_symbol(void *library, const char *name, F &function)
{
	function = reinterpret_cast<F>(dlsym(library, name));
	return function;
}

} // namespace gpulens
