# SPDX-License-Identifier: GPL-2.0-or-later
"""All that differs between processor architectures, as one value for each of them."""

from __future__ import annotations

import platform
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from itertools import chain

from lsmeter.core.registry import find


class BootProtocol(StrEnum):
    """How QEMU starts an image: an ELF through its PVH entry (fast), a bzImage or Image as it is.

    RUNNING is that of a kernel which is not booted: it runs on the machine that measures.
    """

    PVH = "pvh"
    BZIMAGE = "bzimage"
    IMAGE = "image"
    RUNNING = "running"


class Kind(StrEnum):
    """What kind of code a symbol starts, in the letters of the plugin's symbol file."""

    FUNCTION = "f"
    SYSCALL = "s"
    FAULT = "x"
    TRAP = "t"
    INTERRUPT = "i"
    SYNC = "y"
    SWITCH = "w"
    START = "p"
    DEAD = "d"
    NONE = "n"


@dataclass(frozen=True, eq=False)  # each is there once
class EntryCode:
    """The symbols of a kernel's entry code, by which attribution follows control flow."""

    kinds: re.Pattern[str]  # its groups are named as kinds; what none matches is a function
    no_function: re.Pattern[str]  # only ends the function before it
    thunk: re.Pattern[str]  # an address that has such a name is one, whatever else it is called
    stubs: Mapping[str, tuple[str, ...]]  # tables of vector stubs without symbols: what is where
    stub_bytes: int
    max_stubs: int


@dataclass(frozen=True)
class Board:
    """QEMU's machine for one boot protocol, and what plugs into its bus.

    disk_needs are the kernel options without which a guest has no disk. memory_disk is what is
    added to the machine for a kernel that finds persistent memory. seabios is the machine with that
    firmware, "" where it has no other.
    """

    machine: str
    memory_disk: str
    disk: str
    disk_needs: tuple[str, ...]
    network: str
    seabios: str = ""

    @property
    def disk_modules(self) -> tuple[str, ...]:
        """Return the kernel modules of its disk, where they are not built in."""
        return tuple(option.lower() for option in self.disk_needs)


@dataclass(frozen=True)
class DiskInMemory:
    """How a kernel is told that memory behind its own is a disk.

    parameters take the size of the disk, and its distance from the first byte of memory, in MiB.
    base is the address of that byte, where a node of the device tree has to tell; else 0.
    """

    parameters: str
    disk_needs: tuple[str, ...]  # kernel options
    modules: tuple[str, ...]
    base: int = 0


MEMORY_DISK = "memory_disk"  # stands for the modules of a disk in memory


@dataclass(frozen=True, eq=False)  # each is there once
class Arch:
    """One processor architecture."""

    name: str  # as users do, and the kernel's make is told
    uname: str  # as uname -m prints it
    debian: str  # its packages
    calls: str  # how the functions begin that its system calls begin with
    call_tables: tuple[str, ...]  # of system calls, in the kernel's source: the first that is there
    call_abis: frozenset[str]  # of their rows
    tree: str  # its directory in the kernel's source: arch/x86
    elf: str  # e_machine of its kernels
    program: str  # QEMU
    package: str  # that has it, in Debian
    compiler: str  # of its programs, on any machine
    compiler_packages: str
    cpu: str
    host_cpu: str  # of a guest on KVM
    boards: Mapping[BootProtocol, Board]
    results: str  # device of the result channel; {}: the character device behind it
    bulk: str  # one that takes a buffer at a time; "": none is known
    bulk_needs: str  # kernel options
    console: str  # parameters of the kernel, from here on; "" for none
    reset: str
    clock: str
    parameters: tuple[str, ...]
    mitigations: Mapping[str, tuple[str, ...]]  # by the condition's value
    disk_in_memory: DiskInMemory
    entry: EntryCode
    real_time: str = ""  # parameters of a guest whose time is the host's
    exit_device: str = ""  # ends QEMU when the guest writes to it
    exit_sector: bytes = b""  # a boot sector that does, and nothing else
    exit_code: int = 0  # of QEMU then

    @property
    def is_host(self) -> bool:
        """Whether this machine is one."""
        return self.uname == platform.machine()

    @property
    def cross(self) -> str:
        """What the names of programs begin with that build for it on this machine."""
        return "" if self.is_host else self.compiler.removesuffix("gcc")

    @property
    def suffix(self) -> str:
        """What names have that need the architecture; x86-64's are as before there was another."""
        return "" if self is X86_64 else f"-{self.name}"

    def modules(self, names: Iterable[str]) -> tuple[str, ...]:
        """Return names of kernel modules with those that MEMORY_DISK stands for."""
        of_disk = self.disk_in_memory.modules
        each = (of_disk if name == MEMORY_DISK else (name,) for name in names)
        return tuple(chain.from_iterable(each))


_LABELS = (
    r".*\.cold(\.\d+)?|_?_?(s|e)(init|head|)text|_text|_stext|_etext|.*_text_(start|end)|"
    r"__start_.*|__stop_.*|.*text_segment_.*|__kprobes_text_.*|"
)

X86_ENTRY = EntryCode(
    kinds=re.compile(
        r"(?P<SYSCALL>entry_(?:SYSCALL_64|SYSCALL_compat|SYSENTER_compat|INT80_compat)|"
        r"asm_int80_emulation)|(?P<SWITCH>__switch_to_asm)|(?P<DEAD>do_task_dead)|"
        # Before 6.5 it is the first code of a new task; since then a function that this code
        # calls, which the plugin tells by the call.
        r"(?P<START>ret_from_fork(?:_asm)?)|"
        # Not repeated when they return: the instruction that caused them is over.
        r"(?P<TRAP>asm_exc_(?:debug|int3|overflow))|"
        r"(?P<INTERRUPT>asm_exc_(?:nmi|machine_check|double_fault)|asm_sysvec_.*|"
        r"asm_(?:common|spurious)_interrupt)|"
        r"(?P<FUNCTION>asm_exc_xen_.*)|(?P<FAULT>asm_exc_.*)"
    ),
    no_function=re.compile(
        rf"{_LABELS}__pfx_.*|__cfi_.*|"
        r"__x86_(indirect|return)_.*|__SC[TK]__.*|__fentry__|srso_.*|retbleed_.*|"
        r".*untrain_ret.*|its_return_thunk|entry_SYSCALL_64_(safe_stack|after_hwframe)|"
        r"entry_SYSRETQ_.*|entry_SYSCALL_compat_.*|entry_SYSENTER_compat_.*|"
        r"entry_INT80_compat_.*|"
        r"syscall_return_via_sysret|swapgs_restore_regs_and_return_to_usermode|"
        r"restore_regs_and_return_to_kernel|common_interrupt_return|native_(irq_return_)?iret|"
        r"native_irq_return_ldt|early_xen_iret_patch|error_return|paranoid_exit_done"
    ),
    thunk=re.compile(r"__x86_(indirect|return)_.*"),
    # `push vector; jmp asm_common_interrupt`, 8 bytes apart, 16 with indirect branch tracking
    # (arch/x86/include/asm/idtentry.h); a multiple of both is right too.
    stubs={
        "irq_entries_start": ("asm_common_interrupt",),
        "spurious_entries_start": ("asm_spurious_interrupt",),
    },
    stub_bytes=8,
    max_stubs=2 * 256,
)

_VECTORS = tuple(
    f"{level}_{event}"
    for level in ("el1t_64", "el1h_64", "el0t_64", "el0t_32")
    for event in ("sync", "irq", "fiq", "error")
)

ARM64_ENTRY = EntryCode(
    kinds=re.compile(
        r"(?P<SYNC>el[01]._.._sync)|(?P<INTERRUPT>el[01]._.._(?:irq|fiq|error))|"
        r"(?P<SWITCH>cpu_switch_to)|(?P<DEAD>do_task_dead)|(?P<START>ret_from_fork)"
    ),
    # Vectors go on at code that has the name of what they are.
    no_function=re.compile(
        rf"{_LABELS}__pi_.*|{'|'.join(_VECTORS)}|vectors|__bp_harden_el1_vectors|"
        r"ret_to_(user|kernel)|__bad_stack|tramp_(vectors|exit)"
    ),
    thunk=re.compile(r"__.*_veneer"),
    # 128 bytes each (arch/arm64/kernel/entry.S); processors that need it have one table more for
    # each way to clear the history of branches.
    stubs={"vectors": _VECTORS, "__bp_harden_el1_vectors": _VECTORS},
    stub_bytes=128,
    max_stubs=3 * 16,
)

_PCI_DISK = ("VIRTIO_BLK", "VIRTIO_PCI")
_NO_THUNKS = ("mitigations=auto", "retbleed=off", "spec_rstack_overflow=off")  # of returns

X86_64 = Arch(
    name="x86_64",
    uname="x86_64",
    debian="amd64",
    calls="__x64_sys_",
    call_tables=("arch/x86/entry/syscalls/syscall_64.tbl",),
    call_abis=frozenset({"common", "64"}),
    tree="x86",
    elf="EM_X86_64",
    program="qemu-system-x86_64",
    package="qemu-system-x86",
    compiler="x86_64-linux-gnu-gcc",
    compiler_packages="gcc-x86-64-linux-gnu libc6-dev-amd64-cross",
    # String instructions that count one instruction a byte, and one that hangs Linux in its boot.
    cpu="max,-erms,-fsrm",
    # The host's time stamp counter as it is: a guest that may be moved to another host has none
    # that it can trust.
    host_cpu="host,migratable=off",
    boards={
        # No firmware, no PCI. The RTC stays: without it the kernel's probe spins a guest second.
        BootProtocol.PVH: Board(
            "microvm,x-option-roms=off,rtc=on",
            # Linux looks for what the memory map has reserved once it knows a PCI bus
            # (pcibios_resource_survey(), arch/x86/pci/i386.c).
            ",pcie=on,acpi=on",
            "virtio-blk-device",
            ("VIRTIO_BLK", "VIRTIO_MMIO"),
            "virtio-net-device",
            # With ACPI, Linux leaves the legacy PIC of this board as it found it, and a tick that
            # the firmware let through is then a division by 0 (null_legacy_pic; QEMU 8.2.2, and
            # 10.0.13 at 4 ns an instruction).
            seabios="microvm,rtc=on,pic=off",
        ),
        BootProtocol.BZIMAGE: Board("pc", "", "virtio-blk-pci", _PCI_DISK, "virtio-net-pci"),
    },
    results="isa-serial,chardev={},iobase=0x2f8,irq=3",
    bulk="isa-debugcon,chardev={},iobase=0xe9",
    bulk_needs="CONFIG_X86_IOPL_IOPERM",
    console="console=ttyS0",
    # The board has nothing that resets it: after a second of tries the kernel would run the
    # firmware in place, and loop in the kernel's wiped image as often as not. A triple fault
    # ends the guest at once.
    reset="reboot=t",
    # Else kernels from 7.x on have no high-resolution timers here: sleepers wake up at ticks.
    clock="tsc=reliable",
    # With one processor each lock prefix would be patched away, each with two switches of
    # the address space: a sixth of a guest. A prefix is no instruction.
    parameters=("noreplace-smp",),
    # Forced: the code against attacks that the emulated processor does not know of, as far as it
    # is more instructions.
    mitigations={
        "off": ("mitigations=off",),
        "auto": ("mitigations=auto",),
        # What hardware does for itself, as far as it would be code otherwise; then the code.
        "immune": (*_NO_THUNKS, "spectre_v2=off", "pti=off"),
        "retpoline": (*_NO_THUNKS, "spectre_v2=retpoline", "pti=off"),
        "retpoline+pti": (*_NO_THUNKS, "spectre_v2=retpoline", "pti=on"),
        "forced": ("mitigations=auto", "pti=on", "spectre_v2=retpoline", "retbleed=unret"),
    },
    entry=X86_ENTRY,
    # The kernel names the region only once it has found PCI, which the small board has by ECAM
    # alone (pcibios_init(), arch/x86/pci/common.c).
    disk_in_memory=DiskInMemory(
        "memmap={}M!{}M",
        ("X86_PMEM_LEGACY", "BLK_DEV_PMEM", "ND_CLAIM", "PCI_MMCONFIG"),
        ("nd_pmem", "nd_e820"),
    ),
    # On a busy host the kernel finds that its timer does not tick, tries others, and may hang
    # (check_timer(), arch/x86/kernel/apic/io_apic.c).
    real_time="no_timer_check",
    exit_device="isa-debug-exit,iobase=0xf4,iosize=0x04",
    # 16-bit code: mov al, 0; out 0xf4, al; hlt.
    exit_sector=bytes((0xB0, 0x00, 0xE6, 0xF4, 0xF4)).ljust(510, b"\0") + b"\x55\xaa",
    exit_code=1,  # (value << 1) | 1
)

ARM64 = Arch(
    name="arm64",
    uname="aarch64",
    debian="arm64",
    calls="__arm64_sys_",
    call_tables=(
        "scripts/syscall.tbl",
        "include/uapi/asm-generic/unistd.h",
    ),  # from 6.11 on; before
    call_abis=frozenset({"common", "64", "renameat", "rlimit", "memfd_secret"}),
    tree="arm64",
    elf="EM_AARCH64",
    program="qemu-system-aarch64",
    package="qemu-system-arm",
    compiler="aarch64-linux-gnu-gcc",
    compiler_packages="gcc-aarch64-linux-gnu libc6-dev-arm64-cross",
    # Atomics as single instructions (LSE), as the cloud's processors have them. The counter is as
    # fine as guest time, so that it shifts to instructions as the one of x86-64 does.
    cpu="neoverse-n1,cntfrq=1000000000",
    host_cpu="host",
    boards={
        BootProtocol.IMAGE: Board(
            "virt,gic-version=3",
            "",
            "virtio-blk-pci,romfile=",
            _PCI_DISK,
            "virtio-net-pci,romfile=",
        )
    },
    results="pci-serial,chardev={}",
    bulk="",
    bulk_needs="",
    console="console=ttyAMA0",
    reset="",
    clock="",
    parameters=(),
    mitigations={"off": ("mitigations=off",), "auto": ("mitigations=auto",)},
    entry=ARM64_ENTRY,
    # All memory that QEMU has is memory of the kernel, and each part of it a node, unless it is
    # told otherwise.
    disk_in_memory=DiskInMemory(
        "numa=off mem={1}M",
        ("OF_PMEM", "BLK_DEV_PMEM", "ND_CLAIM"),
        ("nd_pmem", "of_pmem"),
        base=0x40000000,
    ),
)

ARCHES: Mapping[str, Arch] = {arch.name: arch for arch in (X86_64, ARM64)}
_OTHER_NAMES = {"x86-64": X86_64, "amd64": X86_64, "aarch64": ARM64}


def find_arch(name: str, *, where: str) -> Arch:
    """Return the architecture that users, Debian or uname call so; UsageError for none."""
    return _OTHER_NAMES.get(name) or find("architecture", name, ARCHES, where=where)


def arch_of_host() -> Arch:
    """Return the architecture of this machine; that of x86-64 where lsmeter has none for it."""
    return next((arch for arch in ARCHES.values() if arch.is_host), X86_64)


_SEVERAL = re.compile(r"debian:[^:]*")  # names of kernels that exist for each


def with_arch(spec: str, arch: Arch) -> str:
    """Return the name of a kernel with its architecture, where there are several of that name.

    debian:6.1:arm64; one of x86-64 has none, as when there was no other: its results are found
    again.
    """
    return spec if arch is X86_64 or not _SEVERAL.fullmatch(spec) else f"{spec}:{arch.name}"


def arch_of(spec: str) -> Arch:
    """Return the architecture in the name of a kernel, x86-64 where it has none."""
    name, _, arch = spec.rpartition(":")
    return find_arch(arch, where="--kernel") if _SEVERAL.fullmatch(name) else X86_64
