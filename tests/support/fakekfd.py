# SPDX-License-Identifier: GPL-2.0
"""Writes the files of the kernel's driver for AMD GPUs below a folder, in the formats of torvalds/linux,
drivers/gpu/drm/amd/amdkfd: kfd_topology.c (node_show(), kfd_debugfs_hqds_by_device(), kfd_debugfs_rls_by_device()),
kfd_process.c (kfd_debugfs_mqds_by_process()), kfd_process_queue_manager.c (pqm_debugfs_mqds()),
kfd_device_queue_manager.c (dqm_debugfs_hqds(), seq_reg_dump()), kfd_packet_manager.c (pm_debugfs_runlist()), and of
lib/hexdump.c. Word positions are those of drivers/gpu/drm/amd/include/v9_structs.h, packets those of
kfd_pm4_headers_ai.h. No GPU wrote any of it."""

import pathlib
import typing

VEGA20 = 0x8f1c  # a gpu_id
# Properties of a Radeon VII, as far as they are read: 60 CUs in 4 SEs, 24 hardware queues, PCI address 0000:03:00.0.
RADEON_VII = {
    "cpu_cores_count": 0, "simd_count": 240, "array_count": 4, "simd_arrays_per_engine": 1, "cu_per_simd_array": 16,
    "simd_per_cu": 4, "gfx_target_version": 90006, "vendor_id": 4098, "device_id": 26287, "location_id": 768,
    "domain": 0, "num_sdma_engines": 2, "num_sdma_xgmi_engines": 0, "num_sdma_queues_per_engine": 8,
    "num_cp_queues": 24, "num_xcc": 1}


def dump_words(words: typing.Sequence[int], indent: int) -> str:
    """seq_hex_dump(m, prefix, DUMP_PREFIX_OFFSET, 32, 4, ...)."""
    return "".join(f"{'':{indent}}{at * 4:08x}: {' '.join(f'{word:08x}' for word in words[at:at + 8])}\n"
                   for at in range(0, len(words), 8))


def dump_registers(registers: "typing.Sequence[tuple[int, int]]") -> str:
    """seq_reg_dump(): a new row after 8 registers and where addresses have a gap."""
    text, left = "", 0
    for i, (address, value) in enumerate(registers):
        if left == 0 or registers[i - 1][0] + 4 != address:
            text += ("\n" if i else "") + f"    {address:08x}: {value:08x}"
            left = 7
        else:
            text += f" {value:08x}"
            left -= 1
    return text + "\n"


class Queue(typing.NamedTuple):
    """A compute queue as update_mqd() of kfd_mqd_manager_v9.c sets it."""
    mqd: int = 0x8000_0010_0000
    doorbell: int = 0x1000
    ring: int = 0x7f00_0010_0000
    size: int = 0x10000
    priority: "tuple[int, int]" = (1, 7)  # of the pipe, of the queue
    masks: "tuple[int, ...]" = (0xffffffff,) * 8
    pointers: "tuple[int, int]" = (0x40, 0x80)  # read, write
    vmid: int = 8

    def words(self) -> "list[int]":
        """struct v9_mqd."""
        words = [0] * 512
        words[0] = 0xc0310800  # header
        for word, mask in zip((23, 24, 26, 27, 39, 40, 41, 42), self.masks):  # compute_static_thread_mgmt_se0, ...
            words[word] = mask
        words[128:130] = self.mqd & 0xffffffff, self.mqd >> 32  # cp_mqd_base_addr_lo
        words[133:135] = self.priority  # cp_hqd_pipe_priority, cp_hqd_queue_priority
        words[136:138] = self.ring >> 8 & 0xffffffff, self.ring >> 40  # cp_hqd_pq_base_lo
        words[138] = self.pointers[0]  # cp_hqd_pq_rptr
        words[139:143] = 0x2000, 0x7f00, 0x2008, 0x7f00  # cp_hqd_pq_rptr_report_addr_lo, cp_hqd_pq_wptr_poll_addr_lo
        words[143] = self.doorbell << 2  # cp_hqd_pq_doorbell_control
        words[145] = 5 << 8 | ((self.size // 4).bit_length() - 1) - 1  # cp_hqd_pq_control: order_base_2() - 1
        words[182] = self.pointers[1]  # cp_hqd_pq_wptr_lo
        return words

    def registers(self, active: bool = True) -> "list[tuple[int, int]]":
        """The 56 registers of kgd_gfx_v9_hqd_dump(), from CP_MQD_BASE_ADDR on, with the queue on its slot."""
        words = self.words()[128:184] if active else [0] * 56
        if active:
            words[2:4] = 1, self.vmid << 8 | self.vmid  # CP_HQD_ACTIVE; CP_HQD_VMID, also of indirect buffers
        return [(0xc914 + 4 * i, word) for i, word in enumerate(words)]


class SdmaQueue(typing.NamedTuple):
    """An SDMA queue, as update_mqd_sdma() sets it."""
    doorbell: int = 0x1004
    engine: int = 0
    queue: int = 0
    ring: int = 0x7f00_0020_0000
    size: int = 0x1000

    def words(self) -> "list[int]":
        """struct v9_sdma_mqd, with the ids at the end."""
        words = [0] * 128
        words[0] = ((self.size // 4).bit_length() - 1) << 1  # sdmax_rlcx_rb_cntl
        words[1:3] = self.ring >> 8 & 0xffffffff, self.ring >> 40  # sdmax_rlcx_rb_base
        words[22] = self.doorbell << 2  # sdmax_rlcx_doorbell_offset
        words[126:128] = self.engine, self.queue
        return words

    def registers(self, active: bool = True) -> "list[tuple[int, int]]":
        """The 19 + 6 + 7 + 10 registers of kgd_hqd_sdma_dump(), with gaps between the four parts."""
        words = self.words()[:42] if active else [0] * 42
        words[0] |= active  # RB_ENABLE
        gaps = [0x100 * ((i >= 19) + (i >= 25) + (i >= 32)) for i in range(42)]
        return [(0x5000 + gap + 4 * i, word) for i, (gap, word) in enumerate(zip(gaps, words))]


def describe_queue(gpu_id: int, *dies: "typing.Union[Queue, SdmaQueue]") -> str:
    """A queue in mqds: its heading, and an MQD for each die."""
    kind = "SDMA" if isinstance(dies[0], SdmaQueue) else "Compute"
    return f"  {kind} queue on device {gpu_id:x}\n" + "".join(dump_words(die.words(), 4) for die in dies)


def map_process(pasid: int, queues: int, gws: int = 0, words: int = 16) -> "list[int]":
    """struct pm4_mes_map_process, and with 21 words pm4_mes_map_process_aldebaran."""
    packet = [0] * words
    packet[0] = {16: 0xc00ea100, 21: 0xc013a100}[words]
    packet[1] = 10 << 25 | pasid  # process_quantum
    packet[13] = queues << 22 | 1 << 7 | gws
    return packet


def map_queues(queue: "typing.Union[Queue, SdmaQueue]", gws: bool = False, mqd: int = 0) -> "list[int]":
    """struct pm4_mes_map_queues with the first engine selection of the driver."""
    compute = isinstance(queue, Queue)
    engine = 0 if compute else 2 + queue.engine
    address = queue.mqd if isinstance(queue, Queue) else mqd
    return [0xc005a200, 1 << 29 | engine << 26 | gws << 12 | 1 << 4, queue.doorbell << 2,
            address & 0xffffffff, address >> 32, 0x2008, 0x7f00]


def run_list(address: int, words: int, processes: int, chain: bool = True) -> "list[int]":
    """struct pm4_mes_runlist."""
    return [0xc002a500, address & 0xffffffff, address >> 32, processes << 24 | 1 << 23 | chain << 20 | words]


# Two processes with four queues, the last of which is not in the runlist.
FIRST = Queue()
MASKED = Queue(mqd=0x8000_0020_0000, doorbell=0x1002, ring=0x7f00_0030_0000, priority=(2, 15),
               masks=(0x3fff, 0xfff, 0, 1), pointers=(0x100, 0x1c0), vmid=9)
INACTIVE = Queue(mqd=0x8000_0030_0000, doorbell=0x1006)
COPY = SdmaQueue()
RUNLIST = [*map_process(32769, 2), *map_queues(FIRST, gws=True), *map_queues(COPY, mqd=0x8000_0040_0000),
           *map_process(32770, 2), *map_queues(MASKED)]
NODE = f"Node 1, gpu_id {VEGA20:x}:\n"
MQDS = (f"Process 4000 PASID 0x8001:\n{describe_queue(VEGA20, FIRST)}{describe_queue(VEGA20, COPY)}"
        f"Process 4010 PASID 0x8002:\n{describe_queue(VEGA20, MASKED)}{describe_queue(VEGA20, INACTIVE)}")
HQDS = (NODE + "   Inst 0, HIQ on MEC 2 Pipe 0 Queue 0\n" + dump_registers(Queue(doorbell=2).registers())
        + " Inst 0,  CP Pipe 0, Queue 0\n" + dump_registers(MASKED.registers())
        + " Inst 0,  CP Pipe 0, Queue 1\n" + dump_registers(Queue().registers(active=False))
        + " Inst 0,  CP Pipe 1, Queue 0\n" + dump_registers(FIRST.registers())
        + "  SDMA Engine 0, RLC 0\n" + dump_registers(COPY.registers(active=False))
        + "  SDMA Engine 0, RLC 1\n" + dump_registers(COPY.registers()))


class FakeKfd:
    """The folder that stands in place of /."""

    def __init__(self, root: pathlib.Path) -> None:
        self.root = root
        self.debug = root / "sys/kernel/debug/kfd"
        self.nodes = root / "sys/class/kfd/kfd/topology/nodes"
        self.debug.mkdir(parents=True)
        self.add_node(0, 0, {**RADEON_VII, "simd_count": 0}, "")  # the processor

    def add_node(self, node: int, gpu_id: int, properties: "dict[str, int]", name: str) -> None:
        """A node of the topology."""
        folder = self.nodes / str(node)
        folder.mkdir(parents=True)
        (folder / "gpu_id").write_text(f"{gpu_id}\n")
        (folder / "name").write_text(f"{name}\n")
        (folder / "properties").write_text("".join(f"{key} {value}\n" for key, value in properties.items()))

    def show(self, mqds: str = "", rls: str = "", hqds: str = "") -> None:
        """The files of debugfs."""
        for name, text in (("mqds", mqds), ("rls", rls), ("hqds", hqds)):
            (self.debug / name).write_text(text)

    def show_example(self) -> None:
        """A Radeon VII with the queues above."""
        self.add_node(1, VEGA20, RADEON_VII, "vega20")
        self.show(MQDS, NODE + dump_words(RUNLIST, 2), HQDS)
