// SPDX-License-Identifier: GPL-2.0
// What the example of docs/partition.md, "Taking turns", launches: a kernel whose SMs are printed.
#include "print_sms.h"

void launch_frame(void *stream);

void launch_frame(void *stream)
{
	print_sms("ran on", stream, 1);
}
