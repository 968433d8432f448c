// SPDX-License-Identifier: GPL-2.0
// Starts the script, and exchanges lines of JSON with it.
#include "lab/experiment/net.hpp"

#include "lib/base/errors.hpp"
#include "lib/base/file.hpp"
#include "lib/base/format.hpp"
#include "lib/base/write_fully.hpp"

#include <cerrno>
#include <chrono>
#include <cstring>
#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>
#include <poll.h>
#include <unistd.h>

namespace tool::experiment {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

namespace {

constexpr unsigned START_S = 120, RUN_S = 120;
constexpr int NO_PYTHON = 127;

// The net has the shape of YOLOv2's first layers: convolutions of 3 x 3 with twice the channels after each halving.
constexpr char SCRIPT[] = R"(
import ctypes, json, sys, threading
try:
    import torch
    if not torch.cuda.is_available():
        raise RuntimeError("torch.cuda.is_available() is False")
    torch.backends.cudnn.enabled = False
    for name in sys.argv[1:]:
        try:
            lib = ctypes.CDLL(name)
            break
        except OSError as error:
            failed = error
    else:
        raise failed
    lib.gpulens_error.restype = ctypes.c_char_p
    lib.gpulens_partition_stream.restype = ctypes.c_void_p

    def check(error):
        if error:
            raise RuntimeError(lib.gpulens_error().decode())

    torch.zeros(1, device="cuda")
    layout = ctypes.c_void_p()
    check(lib.gpulens_layout_open_cuda(ctypes.byref(layout)))
    streams = {}

    def stream_of(tpcs, number):
        if (tpcs, number) not in streams:
            mask, partition = (ctypes.c_uint64 * 4)(), ctypes.c_void_p()
            check(lib.gpulens_mask_parse(layout, tpcs.encode(), mask))
            check(lib.gpulens_partition_open(layout, 0, mask, ctypes.byref(partition)))
            streams[tpcs, number] = torch.cuda.ExternalStream(lib.gpulens_partition_stream(partition))
        return streams[tpcs, number]

    def make_net():
        layers, channels = [], 3
        for more in (32, 64, 128, 256, 512):
            layers += [torch.nn.Conv2d(channels, more, 3, padding=1), torch.nn.LeakyReLU(0.1), torch.nn.MaxPool2d(2)]
            channels = more
        return torch.nn.Sequential(*layers, torch.nn.Conv2d(channels, 425, 1)).cuda().eval()

    nets = [make_net() for _ in range(7)]
    images = [torch.rand(1, 3, 416, 416, device="cuda") for _ in range(7)]

    def time_job(number, stream):
        with torch.no_grad(), torch.cuda.stream(stream):
            begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
            begin.record(stream)
            nets[number](images[number])
            end.record(stream)
            end.synchronize()
            return begin.elapsed_time(end)

    def run(own, other, count, waiting, jobs):
        stop, begun, times, failure = threading.Event(), threading.Event(), [], []
        mine = stream_of(own, 0)
        theirs = [stream_of(other, 1 + i) for i in range(count)] if other else []

        def repeat():
            try:
                turn = 0
                while not stop.is_set():
                    stream, number = theirs[turn % count], 1 + turn % count
                    if waiting:
                        stream.synchronize()
                        with torch.no_grad(), torch.cuda.stream(stream):
                            for _ in range(waiting):
                                nets[number](images[number])
                    else:
                        times.append(time_job(number, stream))
                    turn += 1
                    if turn >= count:
                        begun.set()
                for stream in theirs:
                    stream.synchronize()
            except RuntimeError as error:
                failure.append(error)
                begun.set()

        thread = threading.Thread(target=repeat)
        if theirs:
            thread.start()
            begun.wait()
        time_job(0, mine)
        own_times = [time_job(0, mine) for _ in range(jobs)]
        stop.set()
        if theirs:
            thread.join()
        if failure:
            raise failure[0]
        return {"a": own_times, "b": times[1:-1]}

    print(json.dumps({"gpu": torch.cuda.get_device_name(0)}), flush=True)
    for line in sys.stdin:
        print(json.dumps(run(*json.loads(line))), flush=True)
except Exception as error:
    print(json.dumps({"error": f"{type(error).__name__}: {error}"}), flush=True)
)";

} // namespace

Net::Net()
{
	int in[2], out[2];
	std::string own = installed_file(PARTITION_LIBRARY);

	if (pipe2(in, O_CLOEXEC) || pipe2(out, O_CLOEXEC))
		throw Error(Error::Source, fmt::format("no pipe: {}", std::strerror(errno)));
	process_.emplace(
		[&] {
		execlp("python3", "python3", "-c", SCRIPT, own.c_str(), PARTITION_LIBRARY, nullptr);
		return NO_PYTHON;
		},
		ChildOptions{.in = in[0], .out = out[1]});
	close(in[0]);
	close(out[1]);
	input_ = in[1];
	output_ = out[0];
	try {
		gpu_ = nlohmann::json::parse(read_line(START_S)).at("gpu");
	} catch (...) {
		close_pipes();
		throw;
	}
}

// The process ends at the end of its input.
void Net::close_pipes()
{
	if (input_ >= 0)
		close(input_);
	if (output_ >= 0)
		close(output_);
	input_ = output_ = -1;
}

void Net::report_end()
{
	int status = process_->wait();

	if (status == NO_PYTHON)
		throw Error(Error::Failed, "PyTorch: python3 is missing");
	throw Error(Error::Failed, "PyTorch: python3: " + end_text(status));
}

std::string Net::read_line(unsigned timeout_s)
{
	steady_clock::time_point end = steady_clock::now() + std::chrono::seconds(timeout_s);
	char piece[4096];

	while (text_.find('\n') == text_.npos) {
		auto left = std::chrono::duration_cast<milliseconds>(end - steady_clock::now()).count();
		pollfd readable{output_, POLLIN, 0};
		if (left <= 0 || poll(&readable, 1, static_cast<int>(left)) <= 0)
			throw Error(Error::TimedOut, fmt::format("PyTorch: no answer within {} s", timeout_s));
		ssize_t got = read(output_, piece, sizeof(piece));
		if (got <= 0)
			report_end();
		text_.append(piece, static_cast<size_t>(got));
	}
	size_t newline = text_.find('\n');
	std::string line = text_.substr(0, newline);
	text_.erase(0, newline + 1);
	nlohmann::json answer = nlohmann::json::parse(line, nullptr, false);
	if (!answer.is_object())
		throw Error(Error::Failed,
			    fmt::format("PyTorch: unexpected output \"{}\"", replace_controls(line.substr(0, 80))));
	if (answer.contains("error"))
		throw Error(Error::Missing,
			    fmt::format("PyTorch: {}", replace_controls(answer.at("error").get<std::string>())));
	return line;
}

std::pair<std::vector<double>, std::vector<double>> Net::run(const NetRun &run)
{
	nlohmann::json request = {fmt::format("{}", fmt::join(run.tpcs, ",")),
				  fmt::format("{}", fmt::join(run.other_tpcs, ",")), run.streams, run.waiting,
				  run.jobs};

	if (int err = write_fully(input_, request.dump() + '\n'))
		throw Error(Error::Failed, fmt::format("PyTorch: {}", std::strerror(err)));
	nlohmann::json answer = nlohmann::json::parse(read_line(RUN_S));
	return {answer.at("a").get<std::vector<double>>(), answer.at("b").get<std::vector<double>>()};
}

} // namespace tool::experiment
