// SPDX-License-Identifier: GPL-2.0
// For loops that wait for a change of memory without sleeping.
#pragma once

namespace gpulens {

// Tells the processor that the loop waits, so that it leaves resources to another thread of the same core.
inline void pause_processor()
{
#if defined(__x86_64__)
	__builtin_ia32_pause();
#elif defined(__aarch64__)
	asm volatile("yield");
#endif
}

} // namespace gpulens
