// SPDX-License-Identifier: GPL-2.0
// gpulens-emulator: one emulated GPU behind QEMU's x-pci-proxy-dev. This file has the arguments and the loop.
// One thread: accesses and control commands are answered in the order they come.
#include "model/host.hpp"
#include "server/control_socket.hpp"
#include "server/mpqemu.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <stdexcept>
#include <string>
#include <sys/socket.h>

namespace {

const char USAGE[] =
	"usage: gpulens-emulator --profile FILE.json [--scenario FILE.json] --fd N [--control SOCKETPATH] [--log "
	"FILE]\n"
	"                        [--virtual-time] [--sysmem BASE:BYTES[:BUS]] [--execute] [--irq N]\n"
	"  --fd N   connected AF_UNIX stream socket; QEMU has the other end: -device x-pci-proxy-dev,fd=M,id=gpu0\n"
	"  --sysmem guest physical range that is set aside for this GPU, and the bus address it sees there (default: "
	"BASE)\n"
	"  --execute  channels execute their pushbuffers; without it, they are busy as a scenario says\n"
	"  --irq N  stream socket that gets bytes while the GPU raises its interrupt\n";

const uint64_t REPEAT_NS = 5'000'000; // this project's choice

// QEMU's proxy cannot raise an interrupt without KVM. Another device on the same line does, when a byte reaches it;
// then the guest calls every handler of that line. It is a level, but that device raises no interrupt for a byte while
// earlier ones were not read, so that bytes are repeated. Returns when the next one is due; NEVER while none is raised.
uint64_t send_interrupt(const emu::EmulatedGpu &gpu, int irq, uint64_t due)
{
	if (!gpu.interrupt_raised())
		return emu::NEVER;
	uint64_t now = gpu.now();
	if (due != emu::NEVER && now < due)
		return due;
	(void)!send(irq, "!", 1, MSG_NOSIGNAL | MSG_DONTWAIT);
	return now + REPEAT_NS;
}

// How long nothing happens by itself, until due at most; null: for ever.
const timespec *time_left(const emu::EmulatedGpu &gpu, uint64_t due, timespec &left)
{
	uint64_t next = std::min(gpu.next_event(), due), now = gpu.now(), ns = next > now ? next - now : 0;
	if (next == emu::NEVER || !gpu.is_real_time())
		return nullptr;
	left = {time_t(ns / 1'000'000'000), long(ns % 1'000'000'000)};
	return &left;
}

// pending: a scenario in system memory, which waits until QEMU shares the guest's memory; null: none waits. file: its name.
// irq: where interrupts go, -1: nowhere.
int run_server(emu::EmulatedGpu &gpu, int fd, const std::string &control_path, std::FILE *log, nlohmann::json pending,
	       const std::string &file, int irq)
{
	emu::QemuLink link(gpu, fd, log);
	std::optional<emu::ControlSocket> control;
	if (!control_path.empty())
		control.emplace(gpu, control_path);

	std::vector<pollfd> fds;
	uint64_t interrupt_due = emu::NEVER;
	for (;;) {
		fds.assign(1, {fd, POLLIN, 0});
		if (control)
			control->add_to(fds);
		if (irq >= 0)
			interrupt_due = send_interrupt(gpu, irq, interrupt_due);
		timespec left{};
		const timespec *wait = irq >= 0 ? time_left(gpu, interrupt_due, left) : nullptr;
		if (ppoll(fds.data(), fds.size(), wait, nullptr) < 0) {
			if (errno == EINTR)
				continue;
			std::perror("gpulens-emulator: poll");
			return 1;
		}
		if (irq >= 0)
			gpu.tick(0);
		if (fds[0].revents && !link.serve())
			return 0;
		if (!pending.is_null() && !gpu.needs_system_memory(pending, file)) {
			gpu.load_scenario(pending, file);
			pending = nullptr;
		}
		if (control)
			control->serve(fds);
	}
}

emu::Memories::Window parse_window(const std::string &s)
{
	char *end;
	uint64_t base = std::strtoull(s.c_str(), &end, 0), bytes = *end == ':' ? std::strtoull(end + 1, &end, 0) : 0;
	uint64_t bus = *end == ':' ? std::strtoull(end + 1, &end, 0) : base;
	if (*end || !bytes)
		throw std::invalid_argument("--sysmem wants BASE:BYTES[:BUS], not " + s);
	return {bus, base, bytes};
}

} // namespace

int main(int argc, char **argv)
{
	std::string profile, scenario, control, log_path, sysmem;
	int fd = -1, irq = -1;
	bool virtual_time = false, execute = false;
	for (int i = 1; i < argc; i++) {
		std::string a = argv[i];
		auto value = [&]() -> std::string {
			if (i + 1 >= argc) {
				std::fprintf(stderr, "gpulens-emulator: %s needs a value\n%s", a.c_str(), USAGE);
				std::exit(2);
			}
			return argv[++i];
		};
		if (a == "--profile") {
			profile = value();
		} else if (a == "--scenario") {
			scenario = value();
		} else if (a == "--control") {
			control = value();
		} else if (a == "--log") {
			log_path = value();
		} else if (a == "--sysmem") {
			sysmem = value();
		} else if (a == "--fd") {
			fd = std::atoi(value().c_str());
		} else if (a == "--irq") {
			irq = std::atoi(value().c_str());
		} else if (a == "--execute") {
			execute = true;
		} else if (a == "--virtual-time") {
			virtual_time = true;
		} else {
			std::fputs(USAGE, a == "--help" ? stdout : stderr);
			return a == "--help" ? 0 : 2;
		}
	}
	if (profile.empty() || fd < 0) {
		std::fputs(USAGE, stderr);
		return 2;
	}
	try {
		auto gpu = emu::EmulatedGpu::from_file(profile);
		nlohmann::json pending;
		if (execute)
			gpu->host().enable_work();
		if (!sysmem.empty())
			gpu->memories().window = parse_window(sysmem);
		if (!scenario.empty()) {
			pending = emu::read_json_file("scenario", scenario);
			if (!gpu->needs_system_memory(pending, scenario)) {
				gpu->load_scenario(pending, scenario);
				pending = nullptr;
			}
		}
		gpu->real_time(!virtual_time);
		std::FILE *log = log_path.empty() ? nullptr : std::fopen(log_path.c_str(), "w");
		if (!log_path.empty() && !log)
			throw std::runtime_error("cannot write " + log_path);
		int status = run_server(*gpu, fd, control, log, std::move(pending), scenario, irq);
		if (log)
			std::fclose(log);
		return status;
	} catch (const std::exception &e) {
		std::fprintf(stderr, "gpulens-emulator: %s\n", e.what());
		return 1;
	}
}
