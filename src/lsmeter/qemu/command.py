# SPDX-License-Identifier: GPL-2.0-or-later
"""The words that start QEMU and the kernel; pure. docs/exact-instrument.md has the reasons."""

from __future__ import annotations

from dataclasses import dataclass

from lsmeter.model import BootProtocol, Conditions, Setup

PROGRAM = "qemu-system-x86_64"

# What each value of the condition puts on the kernel's command line. Forced: the code against
# attacks that the emulated processor does not know of, as far as it is more instructions.
_MITIGATIONS = {
    "off": ("mitigations=off",),
    "auto": ("mitigations=auto",),
    "forced": (
        "mitigations=auto",
        "pti=on",
        "spectre_v2=retpoline",
        "retbleed=unret",
    ),
}


@dataclass(frozen=True)
class Channels:
    """Paths that QEMU opens: where a guest's words go, and what it starts from."""

    console: str
    results: str
    initrd: str


@dataclass(frozen=True)
class GuestStart:
    """All that decides what QEMU runs, apart from its channels."""

    boot_protocol: BootProtocol
    image: str
    cmdline: str
    conditions: Conditions
    seed: int
    disk: str = ""  # a raw image that becomes the guest's first disk and is never written to
    plugin: str = ""  # a TCG plugin with its arguments, as QEMU's -plugin takes it


def kernel_cmdline(setup: Setup, conditions: Conditions) -> str:
    """Return the kernel's command line: what holds still, the conditions, then the setup."""
    words = [
        "console=ttyS0",
        "quiet",
        # End at once, and say why, whatever goes wrong: a damaged kernel gives no numbers.
        "panic=-1",
        "oops=panic",
        "softlockup_panic=1",
        # The machine has nothing that resets it: after a second of tries the kernel would run the
        # firmware in place, and loop in the kernel's wiped image as often as not. A triple fault
        # ends the machine at once.
        "reboot=t",
        # 12 of the 19 guest seconds of Debian's boot, and of no concern to what is measured.
        "cryptomgr.notests",
        # Names in the formats of trace events, and records of functions that were replaced: half
        # of the start of a kernel with every module, and only for who reads traces.
        "initcall_blacklist=trace_eval_init,ftrace_check_for_weak_functions",
        # With one processor each lock prefix would be patched away, each with two switches of
        # the address space: a sixth of a guest. A prefix is no instruction.
        "noreplace-smp",
        # Addresses and random numbers change how often hash chains are walked.
        "nokaslr",
        "norandmaps",
        "randomize_kstack_offset=off",
        "random.trust_cpu=on",
        # With the default tables, which grow with memory, names meet in a hash chain by chance
        # and a look-up costs 2 to 12 instructions more in one boot than in another.
        "dhash_entries=1048576",
        "ihash_entries=262144",
        *_MITIGATIONS[conditions.mitigations],
        f"init_on_alloc={int(conditions.init_on_alloc)}",
    ]
    if conditions.slabs == "single":
        # In a slab of several pages the kernel has to find the first one: an instruction more
        # or less by where an object happens to lie.
        words.append("slub_max_order=0")
    if conditions.tick == "periodic":
        words += ["nohz=off", "highres=off"]
    if setup.lsms:
        modules = [name for name in setup.lsms if name != "capability"]
        words.append("lsm=" + (",".join(modules) if modules else "capability"))
    words += setup.cmdline
    return " ".join(words)


def exact_arguments(guest: GuestStart, channels: Channels) -> tuple[str, ...]:
    """Return QEMU's argument list for the exact instrument: TCG, one CPU, counted time."""
    words = [
        PROGRAM,
        *_machine(guest.boot_protocol),
        *("-rtc", "base=2024-01-01T00:00:00,clock=vm"),
        *("-accel", "tcg,thread=single"),
        *("-icount", f"shift={guest.conditions.icount_shift},sleep=off"),
        *("-seed", str(guest.seed)),
        *("-cpu", guest.conditions.cpu),
        *("-m", str(guest.conditions.memory_mib)),
        *("-nodefaults", "-no-user-config", "-no-reboot", "-display", "none"),
        *("-chardev", f"file,id=console,path={_comma(channels.console)}"),
        *("-serial", "chardev:console"),
        *("-chardev", f"file,id=results,path={_comma(channels.results)}"),
        *("-device", "isa-serial,chardev=results,iobase=0x2f8,irq=3"),
        *("-kernel", guest.image),
        *("-initrd", channels.initrd),
        *("-append", guest.cmdline),
    ]
    if guest.disk:
        # What the guest writes goes to a temporary file that is gone with QEMU.
        drive = f"if=none,id=root,format=raw,snapshot=on,cache=unsafe,file={_comma(guest.disk)}"
        bus = "virtio-blk-device" if guest.boot_protocol is BootProtocol.PVH else "virtio-blk-pci"
        words += ["-drive", drive, "-device", f"{bus},drive=root"]
    if guest.plugin:
        words += ["-plugin", guest.plugin]
    return tuple(words)


def _machine(boot_protocol: BootProtocol) -> tuple[str, ...]:
    if boot_protocol is BootProtocol.PVH:
        # No firmware, no PCI. The RTC stays: without it the kernel's probe spins a guest second.
        return ("-M", "microvm,x-option-roms=off,rtc=on")
    return ("-M", "pc")


def _comma(path: str) -> str:
    """Escape a path for a QEMU option, in which a comma is doubled."""
    return path.replace(",", ",,")
