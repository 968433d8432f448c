// SPDX-License-Identifier: GPL-2.0
// The agent of gpulens schedule inside a program: it holds, releases and preempts the program's own TSGs at a coordinator's
// request (lib/launch/agent_page.hpp), and sets their time slices. A hold ends when the coordinator's lease ends, and after a
// second at most. It sends unprivileged controls only, about its own program's TSGs and channels; it never removes what is
// queued (bRewindGpPut) and never stops a channel (STOP_CHANNEL).
#pragma once
#include "preload/driver_objects.hpp"

namespace preload {

// Called at each ioctl of the program.
void count_ioctl();
// Called before the program's request is sent: replaces the time slice that the driver's library sets
// (GPULENS_SCHEDULE_SLICE), and releases TSGs that the program is about to free.
void prepare_request(unsigned long request, void *arg);

// Called with objects_lock held when a TSG has changed. Starts the agent (GPULENS_SCHEDULE_FOLDER) at the first TSG of a graphics
// engine; repeats a hold that the change may have ended.
void follow_group(const Group &g);

} // namespace preload
