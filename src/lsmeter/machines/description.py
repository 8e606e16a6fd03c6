# SPDX-License-Identifier: GPL-2.0-or-later
"""What a guest is made of, as one frozen value, and how QEMU is asked for it.

Pure, but for the size of an image.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from lsmeter.core.errors import InfrastructureError
from lsmeter.core.model import BootProtocol, Cell, Conditions, Kernel, Setup
from lsmeter.core.model.arch import ARCHES, X86_64, Arch
from lsmeter.core.model.filesystems import DISK_OPTIONS, RAM_DISK
from lsmeter.guest.filesystem import size_mib
from lsmeter.machines.devicetree import with_persistent_memory
from lsmeter.measure.tasks import serve

_REST_MIB = 16  # behind an image in memory


@dataclass(frozen=True)
class Network:
    """A network device with one end, 0 or 1, of a link that two guests share.

    Frames go from the one end's socket to the other's, `link`.0 and `link`.1: the guests may
    start in any order, and what the other cannot take yet is lost, as on a wire.
    """

    link: str  # a path
    end: int

    @property
    def mac(self) -> str:
        """The device's address: always the same for the same end of the same link."""
        digest = zlib.crc32(self.link.encode()).to_bytes(4, "big")[:3]
        return ":".join(f"{byte:02x}" for byte in (0x52, 0x54, *digest, self.end))


@dataclass(frozen=True)
class MemoryDisk:
    """A file system image as persistent memory: read and written without waiting, as on no disk.

    What a disk takes goes by the host's clock, and a guest that waits for one never repeats to the
    digit; this one copies, in instructions of its own. Guests write to pages of their own, which
    end with QEMU. The image needs a multiple of a MiB.
    """

    file: str
    size_mib: int


@dataclass(frozen=True)
class Plugin:
    """A TCG plugin with its arguments, and with what it writes."""

    file: str
    arguments: tuple[tuple[str, str], ...] = ()
    outputs: tuple[tuple[str, str], ...] = ()  # file in folder, and the argument that takes it
    folder: str = ""


@dataclass(frozen=True)
class Description:
    """All that decides what QEMU runs; initrd, console and results are placeholders at first."""

    arch: Arch
    boot_protocol: BootProtocol
    kernel: str
    cmdline: str
    accelerator: str = "tcg"
    icount_shift: int | None = None  # guest time: 2**this ns for each instruction; None: real
    cpu: str = ""  # the architecture's own
    memory_mib: int = 256
    cpus: int = 1
    seed: int = 0
    initrd: str = "INITRD"
    console: str = "CONSOLE"
    results: str = "RESULTS"
    bulk: bool = False  # the result channel takes a buffer at a time
    disks: tuple[str, ...] = ()  # raw images; what a guest writes to one ends with QEMU
    memory_disk: MemoryDisk | None = None
    device_tree: str = ""  # instead of the board's own
    networks: tuple[Network, ...] = ()
    waits: bool = False  # an idle guest lets time pass: its peer is another guest
    plugin: Plugin | None = None
    seabios: bool = False  # where the board has a smaller firmware


def qemu_command(guest: Description) -> tuple[str, ...]:
    """Return the command that starts `guest`; `lsmeter help exact-instrument` has the reasons."""
    arch = guest.arch
    board = arch.boards[guest.boot_protocol]
    machine = (guest.seabios and board.seabios) or board.machine
    more = board.memory_disk if guest.memory_disk else ""
    results = (arch.bulk if guest.bulk else arch.results).format("results")
    arguments = [
        *(arch.program, "-M", machine + more),
        *_time(guest),
        *("-seed", str(guest.seed)),
        *("-cpu", guest.cpu or arch.cpu),
        *_memory(guest),
        *(("-smp", str(guest.cpus)) if guest.cpus > 1 else ()),
        *("-nodefaults", "-no-user-config", "-no-reboot", "-display", "none"),
        *("-chardev", f"file,id=console,path={_comma(guest.console)}"),
        *("-serial", "chardev:console"),
        *("-chardev", f"file,id=results,path={_comma(guest.results)}", "-device", results),
        *("-kernel", guest.kernel, "-initrd", guest.initrd, "-append", guest.cmdline),
    ]
    if guest.device_tree:
        arguments += ["-dtb", guest.device_tree]
    for number, disk in enumerate(guest.disks):
        name = f"disk{number}" if number else "root"
        drive = f"if=none,id={name},format=raw,snapshot=on,cache=unsafe,file={_comma(disk)}"
        arguments += ["-drive", drive, "-device", f"{board.disk},drive={name}"]
    for number, network in enumerate(guest.networks):
        here, there = (f"{_comma(network.link)}.{end}" for end in (network.end, 1 - network.end))
        ends = f"local.type=unix,local.path={here},remote.type=unix,remote.path={there}"
        device = f"{board.network},netdev=link{number},mac={network.mac}"
        arguments += ["-netdev", f"dgram,id=link{number},{ends}", "-device", device]
    if guest.plugin:
        arguments += ["-plugin", _plugin(guest.plugin)]
    return tuple(arguments)


def tree_command(guest: Description, path: str) -> tuple[str, ...]:
    """Return the command by which QEMU writes the device tree of a guest's board, and ends."""
    board = guest.arch.boards[guest.boot_protocol]
    return (
        *(guest.arch.program, "-M", f"{board.machine},dumpdtb={_comma(path)}"),
        *("-seed", str(guest.seed), "-cpu", guest.cpu or guest.arch.cpu, *_memory(guest)),
        *("-smp", str(guest.cpus), "-accel", guest.accelerator),
        *("-nodefaults", "-no-user-config", "-display", "none"),
    )


def tree_with_disk(guest: Description, tree: bytes) -> bytes:
    """Return a device tree with the guest's disk in memory."""
    if guest.memory_disk is None:
        raise ValueError("the guest has no disk in memory")
    at = guest.arch.disk_in_memory.base + (guest.memory_mib << 20)
    return with_persistent_memory(tree, at, guest.memory_disk.size_mib << 20)


def _plugin(plugin: Plugin) -> str:
    outputs = ((argument, f"{plugin.folder}/{name}") for name, argument in plugin.outputs)
    given = [*plugin.arguments, *outputs]
    for path in (plugin.file, *(value for _, value in given)):
        # QEMU's plugin option splits at commas; how they are escaped differs by version.
        if "," in path:
            raise InfrastructureError(
                f"a QEMU plugin cannot use a path with a comma: {path}",
                hint="choose another directory (LSMETER_CACHE, TMPDIR)",
            )
    return ",".join((plugin.file, *(f"{key}={value}" for key, value in given)))


def _memory(guest: Description) -> tuple[str, ...]:
    """Return the memory: the guest's own, the image, and a rest for a firmware's tables."""
    if guest.memory_disk is None:
        return ("-m", str(guest.memory_mib))
    sizes = (guest.memory_mib, guest.memory_disk.size_mib, _REST_MIB)
    file = f",mem-path={_comma(guest.memory_disk.file)},share=off"
    parts = (("ram", ""), ("file", file), ("ram", ""))
    arguments = ["-m", f"{sum(sizes)}"]
    for number, (size, (kind, more)) in enumerate(zip(sizes, parts, strict=True)):
        backend = f"memory-backend-{kind},id=memory{number},size={size}M{more}"
        arguments += ["-object", backend, "-numa", f"node,memdev=memory{number}"]
    return tuple(arguments)


def _time(guest: Description) -> tuple[str, ...]:
    if guest.icount_shift is None:
        return ("-rtc", "base=utc,clock=host", "-accel", guest.accelerator)
    if guest.accelerator != "tcg":
        raise ValueError(f"instructions are not counted with the accelerator {guest.accelerator}")
    return (
        *("-rtc", "base=2024-01-01T00:00:00,clock=vm"),
        *("-accel", "tcg,thread=single"),
        *("-icount", f"shift={guest.icount_shift},sleep={'on' if guest.waits else 'off'}"),
    )


def _comma(path: str) -> str:
    """Escape a path for a QEMU option, in which a comma is doubled."""
    return path.replace(",", ",,")


def kernel_cmdline(
    setup: Setup, conditions: Conditions, arch: Arch = X86_64, own: Sequence[str] = ()
) -> str:
    """Return the kernel's command line: what holds still, the conditions, then the setup.

    own: what this kernel needs.
    """
    parameters = [
        arch.console,
        "quiet",
        # End at once, and say why, whatever goes wrong: a damaged kernel gives no numbers.
        *("panic=-1", "oops=panic", "softlockup_panic=1"),
        arch.reset,
        # 12 of the 19 guest seconds of Debian's boot, and of no concern to what is measured.
        "cryptomgr.notests",
        arch.clock,
        # Names in the formats of trace events, and records of functions that were replaced: half
        # of the start of a kernel with every module, and only for who reads traces.
        "initcall_blacklist=trace_eval_init,ftrace_check_for_weak_functions",
        *arch.parameters,
        # Addresses and random numbers change how often hash chains are walked.
        *("nokaslr", "norandmaps", "randomize_kstack_offset=off", "random.trust_cpu=on"),
        # With the default tables, which grow with memory, names meet in a hash chain by chance
        # and a look-up costs 2 to 12 instructions more in one boot than in another.
        *("dhash_entries=1048576", "ihash_entries=262144"),
        *arch.mitigations[conditions.mitigations],
        f"init_on_alloc={int(conditions.init_on_alloc)}",
        *own,
    ]
    if conditions.slabs == "single":
        # In a slab of several pages the kernel has to find the first one: an instruction more
        # or less by where an object happens to lie.
        parameters.append("slub_max_order=0")
    if conditions.tick == "periodic":
        parameters += ["nohz=off", "highres=off"]
    return " ".join(filter(None, (*parameters, *setup_parameters(setup))))


def setup_parameters(setup: Setup) -> tuple[str, ...]:
    """Return the kernel parameters of a setup alone."""
    modules = [name for name in setup.lsms or () if name != "capability"]
    lsm = [f"lsm={','.join(modules) or 'capability'}"] if setup.lsms else []
    return (*lsm, *setup.cmdline)


def counted_guest(
    kernel: Kernel, setup: Setup, conditions: Conditions, seed: int = 0
) -> Description:
    """Describe a guest of one processor that QEMU's TCG emulates, counting its instructions."""
    arch = ARCHES[kernel.arch]
    return Description(
        arch=arch,
        boot_protocol=kernel.boot_protocol,
        kernel=str(kernel.image),
        cmdline=kernel_cmdline(setup, conditions, arch, kernel.parameters),
        icount_shift=conditions.icount_shift,
        cpu=conditions.cpu,
        memory_mib=conditions.memory_mib,
        seed=seed,
    )


def in_real_time(guest: Description, accelerator: str, cpu: str) -> Description:
    """Return the guest with the host's time instead of that of counted instructions.

    Its board is the one with all timers: on the small one the kernel's first clock does not tick
    unless instructions are counted.
    """
    board = guest.boot_protocol
    board = BootProtocol.BZIMAGE if board is BootProtocol.PVH else board
    cmdline = f"{guest.cmdline} {guest.arch.real_time}".rstrip()
    found = replace(guest, accelerator=accelerator, cpu=cpu, boot_protocol=board, cmdline=cmdline)
    return replace(found, icount_shift=None, waits=False)


def _own_kib(config: Mapping[str, str]) -> int:
    """Return the size of the RAM disk of a kernel that has its driver built in."""
    said = config.get(f"{DISK_OPTIONS[RAM_DISK]}_SIZE", "")
    return int(said) if re.fullmatch("[0-9]{1,9}", said) else 0


def guest_of(cell: Cell, seed: int = 0) -> Description:
    """Describe a guest of `cell`; the path of its link is a placeholder."""
    guest = counted_guest(cell.kernel, cell.setup, cell.conditions, seed)
    guest = replace(guest, cpus=cell.copies)
    size_kib, config = size_mib(cell) << 10, cell.kernel.config
    if config.get(DISK_OPTIONS[RAM_DISK]) == "y" and size_kib > _own_kib(config):
        guest = replace(guest, cmdline=f"{guest.cmdline} {RAM_DISK}.rd_size={size_kib}")
    if cell.image is None:
        return guest
    if cell.task.workload is None and cell.task.command is None:
        return replace(guest, disks=(str(cell.image.file),))
    disk = MemoryDisk(str(cell.image.file), cell.image.file.stat().st_size >> 20)
    where = guest.arch.disk_in_memory.parameters.format(disk.size_mib, guest.memory_mib)
    guest = replace(guest, memory_disk=disk, cmdline=f"{guest.cmdline} {where}")
    if cell.task.workload is None or cell.task.workload.client != "guest":
        return guest
    end = int(cell.task.name == serve.NAME)
    return replace(guest, networks=(Network("LINK", end),), waits=True)
