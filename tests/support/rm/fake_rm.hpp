// SPDX-License-Identifier: GPL-2.0
// The resource manager that fake_rm.cc implements from a recording; fake_node.cc connects it to device nodes.
#pragma once
#include "fake_switches.hpp"

#include <cstdint>
#include <cstdio>
#include <cstring>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace fake {

using nlohmann::json;

// The parameters of a control command.
struct Params {
	uint8_t *bytes;
	uint32_t size;

	uint32_t get(uint32_t off) const
	{
		uint32_t v;
		memcpy(&v, bytes + off, 4);
		return v;
	}
	void put(uint32_t off, uint32_t v) const { memcpy(bytes + off, &v, 4); }
};

class Rm {
public:
	static Rm &the();

	bool fakes() const { return !facts_.empty(); }
	bool fakes_switches() const { return fakes() && switches_.faked(); }
	bool owns(int fd) const { return fds_.count(fd) != 0; }
	bool records(uint32_t pid) const; // whether the recording has a process of this pid
	void opened(int control) { fds_.insert(control); }
	void opened_gpu() { gpu_node_ = true; }
	int refuses(const char *node) const; // errno of opening it; 0: it opens
	void close(int fd) { fds_.erase(fd); }
	int ioctl(unsigned long request, void *arg);

private:
	Rm();
	void alloc(uint8_t *a);
	void control(uint8_t *c);
	uint32_t answer(uint32_t object, uint32_t cls, uint32_t cmd, const Params &p);
	uint32_t answer_group(uint32_t object, uint32_t cmd, const Params &p);
	uint32_t answer_device(uint32_t cmd, const Params &p);
	uint32_t schedule_group(uint32_t object, uint32_t cmd, const Params &p);
	uint32_t disable_channels(const Params &p);
	uint32_t count_switches(const Params &p);
	uint32_t answer_buffer(uint32_t buffer, uint32_t cmd, const Params &p);
	void set_switches();
	void map(uint8_t *m);
	uint32_t answer_root(uint32_t cmd, const Params &p);
	uint32_t answer_gr(uint32_t cmd, const Params &p);
	uint32_t answer_engines(uint32_t cmd, const Params &p);
	uint32_t answer_copies(uint32_t cmd, const Params &p);
	int resident(uint64_t us) const;
	uint32_t owner(int chid) const;
	const json *tsg(size_t i) const; // as recorded
	const json *engine(uint32_t nv2080) const;
	const json &common() const { return facts_["common"]; }
	const json &gpu() const { return facts_["gpus"][gpu_]; }
	void log(const char *what, uint32_t which, uint32_t status);

	json facts_;
	std::vector<uint32_t> gpus_;          // index in the recording, by the driver's instance
	std::map<uint32_t, uint32_t> gpu_of_; // that instance, by handle
	size_t gpu_ = 0;                      // index in the recording of the GPU that is queried
	bool gpu_node_ = false;               // /dev/nvidiaN of a GPU was opened
	bool user_ = false;
	long busy_ = 0;                                                  // ioctls still to be answered with EAGAIN
	std::map<uint32_t, uint32_t> sizes_;                             // by command, of the faked version
	std::map<uint32_t, uint32_t> sizes_580_;                         // as recorded
	std::map<uint32_t, const json *> asked_;                         // the recording's row of a command
	std::map<uint32_t, uint32_t> objects_;                           // class by handle
	std::vector<std::pair<uint32_t, std::vector<uint32_t>>> groups_; // handles: of a TSG, of its channels
	std::set<uint32_t> computes_; // groups with an object on one of their channels
	std::set<int> fds_;
	Switches switches_;
	uint32_t next_ = 0xc1d00001;
	int answers_ = 0;
	FILE *log_ = nullptr;
};

} // namespace fake
