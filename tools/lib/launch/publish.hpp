// SPDX-License-Identifier: GPL-2.0
// Publishes the partitions of this process for gpulens partitions: see partition_page.hpp.
#pragma once
#include <cstdint>
#include <string>

namespace gpulens {

// Replaces the published list by text (JSON, format_partitions()). From the first call on, launches with a mask are counted;
// a child of fork() publishes a list and a count of its own from its first launch on. Failures are silent: partitions hold
// without it.
void publish(const std::string &text);
// As publish(), and from now on other processes of this user may ask for another partition (partition_page.hpp). take: sets
// the mask of a request, in a launch; false: it is none for this process.
void publish_on_request(const std::string &text, bool (*take)(const char *mask));
// What a launch calls where a request is there. Returns the number of the last one that was looked at.
uint32_t answer_request();
// Registers the handlers of publish() for fork(). A caller that holds a lock of its own during publish(), and whose handlers
// take it, calls this before it registers them: pthread_atfork(3) runs them in reverse order. False: no memory.
bool publish_over_fork();

} // namespace gpulens
