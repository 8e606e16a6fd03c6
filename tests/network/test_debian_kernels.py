# SPDX-License-Identifier: GPL-2.0-or-later
"""Debian's real kernels, from the archive that this machine uses."""

from __future__ import annotations

import pytest

from lsmeter.core.model import BootProtocol
from lsmeter.sources.kernels.resolve import Request, resolve
from lsmeter.sources.kernels.vmlinux import has_pvh_entry

pytestmark = pytest.mark.network


@pytest.fixture(scope="module", autouse=True)
def _cold_cache(tmp_path_factory: pytest.TempPathFactory) -> object:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("LSMETER_CACHE", str(tmp_path_factory.mktemp("cache")))
        yield


@pytest.mark.parametrize("series", ["6.1", "6.12", "7.2"])
def test_a_cloud_kernel_is_fetched_and_then_cached(series: str) -> None:
    kernel = resolve(f"debian:{series}")
    assert kernel.release.startswith(f"{series}.")
    assert kernel.release.endswith("-cloud-amd64")
    assert kernel.boot_protocol is BootProtocol.PVH
    assert has_pvh_entry(kernel.image)
    assert kernel.config["SECURITY_SELINUX"] == "y"
    assert {"brd", "loop", "xfs"} <= {module.name for module in kernel.modules}
    assert kernel.config["EXT4_FS"] == "y", "so it is no module, and is not loaded"
    assert resolve(f"debian:{series}", Request(offline=True)) == kernel
