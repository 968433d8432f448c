// SPDX-License-Identifier: GPL-2.0
// Inference and training in PyTorch as the two programs of sharing. They are called, and publish what they do, as
// gpulens-schedule-load does (probe/schedule_load.cc); the numbers are places of words of struct LoadProgress. EAGER: without a
// CUDA graph.
#include "lab/experiment/sharing.hpp"

namespace tool::experiment {

const char SHARING_SCRIPT[] = R"(
import ctypes, json, mmap, os, signal, struct, sys, time
import torch

KERNELS, PID, READY, GO = 1, 3, 4, 8
kind, file, _, *numbers = sys.argv[1:]
with open(file, "r+b") as opened:
    page = mmap.mmap(opened.fileno(), 0)

def put(word, value):
    struct.pack_into("Q", page, 8 * word, value)

# Announces jobs where gpulens schedule is to know of them.
def make_announcer():
    library = os.environ.get("GPULENS_JOBS_LIBRARY")
    if not library:
        return (lambda: None), (lambda: None)
    jobs = ctypes.CDLL(library)
    return (lambda: jobs.gpulens_schedule_begin(ctypes.c_uint64(0))), jobs.gpulens_schedule_end

def make_net(layers):
    layer = torch.nn.TransformerEncoderLayer(2048, 16, 8192, dropout=0.0, batch_first=True, norm_first=True)
    return torch.nn.TransformerEncoder(layer, layers, enable_nested_tensor=False).to("cuda", torch.bfloat16)

def serve(period, seconds):
    net, data = make_net(12).eval(), torch.randn(8, 256, 2048, device="cuda", dtype=torch.bfloat16)
    times, graph, request = [], torch.cuda.CUDAGraph(), lambda: net(data)
    begin_job, end_job = make_announcer()
    with torch.inference_mode():
        for _ in range(20):
            request()
        torch.cuda.synchronize()
        if not EAGER:
            with torch.cuda.graph(graph):
                net(data)
            request = graph.replay
        for _ in range(20):
            request()
        torch.cuda.synchronize()
        put(READY, 1)
        while not struct.unpack_from("Q", page, 8 * GO)[0]:
            time.sleep(0.001)
        due = time.monotonic()
        end = due + seconds
        while time.monotonic() < end:
            due = max(due + period, time.monotonic() - period)
            time.sleep(max(0, due - time.monotonic()))
            begin = time.monotonic()
            begin_job()
            request()
            torch.cuda.synchronize()
            times.append(round((time.monotonic() - begin) * 1e6, 1))
            end_job()
    print(json.dumps(times))

def train():
    stopped, steps = [], 0
    signal.signal(signal.SIGTERM, lambda *_: stopped.append(1))
    net, data = make_net(16), torch.randn(16, 512, 2048, device="cuda", dtype=torch.bfloat16)
    optimizer = torch.optim.AdamW(net.parameters(), lr=1e-4)
    while not stopped:
        optimizer.zero_grad(set_to_none=True)
        (net(data).float() ** 2).mean().backward()
        optimizer.step()
        torch.cuda.synchronize()
        steps += 1
        put(KERNELS, steps)
        put(READY, steps > 5)

put(PID, os.getpid())
if kind == "urgent":
    serve(float(numbers[0]) / 1000, float(numbers[1]))
else:
    train()
)";

} // namespace tool::experiment
