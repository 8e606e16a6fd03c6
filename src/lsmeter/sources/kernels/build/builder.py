# SPDX-License-Identifier: GPL-2.0-or-later
"""Builds a kernel: source, fragments and modules in; a kernel in the cache out.

With SELinux in it, its minimal policy is made as well (mdp-policy). The kernel's own program
(scripts/selinux/mdp) writes one type that may do everything to itself, so it refuses nothing; one
more type is added here, whose files may be labelled and looked at, but neither opened nor read:
without it no guest could show that the policy is enforced.
"""

from __future__ import annotations

import hashlib
import json
import re
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from lsmeter.core import process
from lsmeter.core.errors import BuildError, InfrastructureError, LsmeterError
from lsmeter.core.model import Kernel
from lsmeter.core.model.arch import X86_64, Arch, arch_of_host
from lsmeter.core.progress import Progress, shown
from lsmeter.core.storage import locked, make_dir, sha256_of, write_atomic
from lsmeter.sources.kernels import vmlinux
from lsmeter.sources.kernels.build import fragment, with_lsm
from lsmeter.sources.kernels.build.make import Slot, check_tools, plan, run_make, sync, version_of
from lsmeter.sources.kernels.build.source import SourceTree, kernel_release, resolve_source
from lsmeter.sources.kernels.resolve import ANY, Request
from lsmeter.sources.kernels.sources import built as store

DEFAULT_CONFIGS = ("lsm-all",)

# Part of every kernel's identity: raise it when the way of building changes what comes out.
_RECIPE = 2

MDP_POLICY = "mdp-policy"
COMPILER = "checkpolicy"
_SELINUX = "SECURITY_SELINUX"
# Of the policy: every kernel since 4.13 reads it, and mdp says nothing that a later one adds.
_VERSION = 31
# Of what a policy may turn on, those that Linux 5.18 has: checkpolicy of Debian 12 knows no later
# one, and kernels are compared under one policy.
_CAPABILITIES = (
    *("network_peer_controls", "open_perms", "extended_socket_class", "always_check_network"),
    *("cgroup_seclabel", "nnp_nosuid_transition", "genfs_seclabel_symlinks", "ioctl_skip_cloexec"),
)
_LATER = re.compile(rf"^policycap (?!(?:{'|'.join(_CAPABILITIES)});).*\n", re.MULTILINE)
_BEFORE = re.compile(r"^user ", re.MULTILINE)
_ADDED = """\
type lsmeter_secret_t;
allow base_t lsmeter_secret_t:file { getattr relabelfrom relabelto unlink };
allow lsmeter_secret_t base_t:filesystem associate;
"""


@dataclass(frozen=True)
class Recipe:
    """All that goes into one kernel."""

    source: SourceTree
    fragments: tuple[fragment.Fragment, ...]
    assignments: tuple[fragment.Assignment, ...]
    lsms: tuple[with_lsm.OutOfTreeLsm, ...]
    toolchain: tuple[str, str, str]  # versions of what changes the kernel: gcc, ld, pahole
    arch: Arch = X86_64

    @property
    def identity(self) -> str:
        """Hash all that goes in: the same identity is the same kernel."""
        parts = {
            "recipe": _RECIPE,
            "source": self.source.identity,
            "config": fragment.config_text(self.assignments),
            "lsms": [lsm.identity for lsm in self.lsms],
            "toolchain": self.toolchain,
            **({"arch": self.arch.name} if self.arch is not X86_64 else {}),
        }
        return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()

    @property
    def default_name(self) -> str:
        """Name the kernel by what went in: 6.1-lsm-all, 6.1-lsm-all-example-lsm."""
        named = [part.name for part in self.fragments if part.foundation or len(self.fragments) < 2]
        modules = [lsm.name for lsm in self.lsms if lsm.name not in named]
        modules += [self.arch.name] if self.arch is not X86_64 else []
        return re.sub(r"[^A-Za-z0-9._+-]", "-", "-".join([self.source.label, *named, *modules]))

    @property
    def slot(self) -> Slot:
        """Return where it is built; kernels that differ in added modules share their objects."""
        names = sorted(part.name for part in self.fragments if not part.with_lsm)
        key = json.dumps([str(self.source.path), names, self.toolchain])
        digest = hashlib.sha256(key.encode()).hexdigest()[:10]
        readable = re.sub(r"[^A-Za-z0-9.+-]", "-", "-".join([self.source.path.name, *names]))
        home = store.slots_dir() / f"{readable[:60]}-{digest}{self.arch.suffix}"
        return Slot(home, self.arch)


def build_kernel(
    source: str,
    configs: Sequence[str] = DEFAULT_CONFIGS,
    with_lsms: Sequence[Path] = (),
    name: str | None = None,
    request: Request = ANY,
    arch: Arch | None = None,
) -> Kernel:
    """Return the kernel built from `source` with the fragments `configs`, built if need be.

    source: debian-source:6.1, a tarball, or the directory of a kernel tree. configs: names of
    fragments that come with lsmeter, or files. with_lsms: directories of modules to add. name: what
    to call it (default: after what goes in). arch: this machine's by default. A kernel of the same
    name that was made of something else is replaced.
    """
    wanted = store.check_name(name) if name else None
    recipe = prepare(source, configs, with_lsms, request, arch or arch_of_host())
    wanted = wanted or recipe.default_name
    built = store.find_built(wanted)
    if built is not None and built.identity == recipe.identity:
        with suppress(InfrastructureError):  # of one that is damaged
            kernel = store.to_kernel(built)
            if not _can_complete(kernel):
                return kernel
    with locked(f"kernel-slot-{recipe.slot.home.name}"):
        _build(recipe, wanted, request.progress)
    return store.to_kernel(store.get_built(wanted))


def foresee_kernel(name: str, configs: Sequence[str], arch: Arch) -> Kernel:
    """Return the kernel that fragments would make, for a plan: as asked for, without an image."""
    assignments = fragment.merge([part.of_arch(arch) for part in _load_fragments(configs)])
    config = {item.option: item.value for item in assignments}
    made = [MDP_POLICY] if config.get(_SELINUX) == "y" else []
    return Kernel.foreseen(name, arch, config, made)


def _load_fragments(configs: Sequence[str]) -> tuple[fragment.Fragment, ...]:
    """Return the named fragments after the foundation that they stand on."""
    named = [fragment.load_fragment(word) for word in dict.fromkeys(configs)]
    foundation = fragment.foundation_of(named)
    return (*([fragment.load_fragment(foundation)] if foundation else ()), *named)


def prepare(
    source: str,
    configs: Sequence[str],
    with_lsms: Sequence[Path],
    request: Request = ANY,
    arch: Arch = X86_64,
) -> Recipe:
    """Read all that goes into a kernel; mistakes of the user are reported here."""
    fragments = tuple(part.of_arch(arch) for part in _load_fragments(configs))
    shipped_lsms = [fragment.shipped_lsm(word) for part in fragments for word in part.with_lsm]
    lsms = tuple(with_lsm.read_lsm(path) for path in (*shipped_lsms, *with_lsms))
    requests = [fragment.Fragment(f"--with-lsm {lsm.name}", "", lsm.assignments) for lsm in lsms]
    assignments = fragment.merge([*fragments, *requests])
    check_tools(arch)
    return Recipe(
        source=resolve_source(source, request),
        fragments=fragments,
        assignments=assignments,
        lsms=lsms,
        toolchain=(
            version_of(f"{arch.cross}gcc"),
            version_of(f"{arch.cross}ld"),
            version_of("pahole"),
        ),
        arch=arch,
    )


def _build(recipe: Recipe, name: str, progress: Progress) -> None:
    slot = recipe.slot
    make_dir(slot.home)
    began = time.monotonic()
    try:
        config = _compile(recipe, name, progress)
        image = _bootable(slot)
    except BuildError as error:
        error.log_path = error.log_path or slot.log
        raise
    said = vmlinux.prepare(image, slot.home / "unpacked").release
    made, without = make_policy(slot, config)
    files = {"System.map": slot.objects / "System.map", "config": slot.objects / ".config"}
    compiler = recipe.toolchain[0]
    lsms = tuple(lsm.name for lsm in recipe.lsms)
    fragments = tuple(part.name for part in recipe.fragments)
    added = f" with {', '.join(lsms)}" if lsms else ""
    facts = store.BuiltKernel(
        name=name,
        identity=recipe.identity,
        release=said or kernel_release(recipe.source.path),
        origin=f"built from {recipe.source.origin}, {'+'.join(fragments)}{added}, {compiler}",
        fragments=fragments,
        with_lsm=lsms,
        compiler=compiler,
        slot=slot.home.name,
        image_sha256=sha256_of(image),
        image_bytes=image.stat().st_size,
        build_s=round(time.monotonic() - began, 1),
        artifacts=tuple((key, sha256_of(path)) for key, path in made.items()),
        without=without,
        others=tuple((key, sha256_of(path)) for key, path in files.items()),
        arch=recipe.arch.name,
    )
    store.put(facts, {"vmlinux": image, **files, **made})


def _bootable(slot: Slot) -> Path:
    """Return what guests boot of a kernel that was built, without debug information."""
    if slot.product != slot.objects / "vmlinux":
        return slot.product
    image = slot.home / "vmlinux"
    process.output(["objcopy", "--strip-debug", str(slot.product), str(image)])
    return image


def _compile(recipe: Recipe, name: str, progress: Progress) -> Mapping[str, str]:
    """Configure the kernel and make its vmlinux; return the configuration."""
    slot, source = recipe.slot, recipe.source
    fresh = not (slot.objects / "vmlinux").exists()
    expected = sum(part.objects for part in recipe.fragments) if fresh else 0
    with shown(progress, f"build {name}", expected or None, "steps") as show:
        write_atomic(slot.log, b"")
        own = with_lsm.overlay(recipe.lsms, fragment.tree_reader(source.path))
        sync(slot.tree, plan(source.path, source.files, own))
        config = fragment.configure(recipe.assignments, slot)
        with_lsm.check_count(fragment.tree_reader(slot.tree), config)
        run_make(slot, [slot.product.name], lambda done: show(min(done, expected or done)))
        _refuse_moved(source)
        fragment.remember(recipe.assignments, slot)
    return config


def _can_complete(kernel: Kernel) -> bool:
    """Say whether a file that belongs to the kernel is missing and could be made now."""
    missing = kernel.config.get(_SELINUX) == "y" and MDP_POLICY not in kernel.artifacts
    return missing and process.find(COMPILER) is not None


def _refuse_moved(source: SourceTree) -> None:
    """Refuse a kernel whose source changed under the compiler: its name would be a lie."""
    if source.is_users and resolve_source(str(source.path)).identity != source.identity:
        raise BuildError(
            f"{source.path} changed while the kernel was built from it",
            hint="build again; what has been compiled is kept",
        )


def make_policy(
    slot: Slot, config: Mapping[str, str]
) -> tuple[dict[str, Path], tuple[tuple[str, str], ...]]:
    """Make the policy of a kernel with SELinux; return it by name, or why it cannot be made."""
    if config.get(_SELINUX) != "y":
        return {}, ()
    try:
        return {MDP_POLICY: _minimal_policy(slot)}, ()
    except LsmeterError as error:
        return {}, ((MDP_POLICY, error.title),)


def _minimal_policy(slot: Slot) -> Path:
    """Return the compiled policy; raise BuildError or InfrastructureError with what failed."""
    program = slot.objects / "scripts/selinux/mdp/mdp"
    source, contexts = slot.home / "mdp.conf", slot.home / "mdp.contexts"
    if not program.is_file():
        raise BuildError("the kernel's build made no scripts/selinux/mdp")
    if process.find(COMPILER) is None:
        raise BuildError(f"{COMPILER} is not installed (Debian: apt install {COMPILER})")
    process.output([str(program), "-m", str(source), str(contexts)])
    try:
        source.write_text(adapt_policy(source.read_text(encoding="ascii")), encoding="ascii")
    except (OSError, UnicodeDecodeError, ValueError) as error:
        raise BuildError(f"scripts/selinux/mdp wrote what is no policy: {error}") from error
    policy = slot.home / MDP_POLICY
    words = [COMPILER, "-M", "-U", "allow", "-c", str(_VERSION), "-o", str(policy), str(source)]
    process.output(words)
    return policy


def adapt_policy(text: str) -> str:
    """Return mdp's policy with one more type, whose files nothing may open; pure.

    Policy capabilities of later kernels are left out.
    """
    text = _LATER.sub("", text)
    at = _BEFORE.search(text)
    if at is None or "type base_t;" not in text:
        raise ValueError("it has no type base_t or no user")
    return text[: at.start()] + _ADDED + text[at.start() :]
