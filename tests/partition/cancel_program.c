// SPDX-License-Identifier: GPL-2.0
// Cancels threads that call the library in a loop.
#include "gpulens-partition.h"
#include "libsmctrl.h"
#include <pthread.h>
#include <stdio.h>
static void *call_library(void *unused)
{
	struct gpulens_layout *layout;
	uint32_t tpcs;

	for (;;) {
		gpulens_layout_open("/nonexistent", 0, &layout);
		libsmctrl_get_tpc_info(&tpcs, 0);
		pthread_testcancel();
	}
	return unused;
}
int main(void)
{
	for (int i = 0; i < 20; i++) {
		pthread_t thread;
		void *end;

		pthread_create(&thread, NULL, call_library, NULL);
		pthread_cancel(thread);
		pthread_join(thread, &end);
		if (end != PTHREAD_CANCELED)
			return 2;
	}
	puts("cancelled");
	return 0;
}
