# SPDX-License-Identifier: GPL-2.0-or-later
"""`lsmeter history`: one list of setups over several kernels."""

from __future__ import annotations

from lsmeter.cli import options
from lsmeter.cli.options import Asked
from lsmeter.cli.show import show

_TITLE = "Overhead of security modules over kernel versions"
_KERNELS = ["debian:6.1", "debian:6.12", "debian:7.2"]
_SETUPS = ["capability", "selinux", "apparmor", "tomoyo", "landlock", "bpf"]


@options.measuring
def history(
    asked: Asked,
    run: options.RunArgument = None,
    boots: options.BootsOption = None,
    plot: options.PlotOption = None,
) -> int:
    """Show what each setup cost over kernel versions: oldest kernel first.

    Without a run it measures Debian's 6.1, 6.12 and 7.2 with every module that they have.

        lsmeter history
        lsmeter history -k built:6.1-lsm-all -k built:7.2-lsm-all -s smack
        lsmeter history runs/2026-11-20T10-00-00-history --plot history.svg
    """
    from lsmeter.cli.measure import check_plot, draw, measured
    from lsmeter.measure.tasks import cost_tasks
    from lsmeter.questions.history import document as report

    check_plot(plot)
    words = asked.words(title=_TITLE, kernels=_KERNELS, setups=_SETUPS)
    experiment = options.experiment({**words, "boots": boots})
    with measured(run, [experiment], "history", asked, tasks=cost_tasks()) as (data, code):
        show(report.document(data))
        draw(plot, lambda: report.plot(data))
    return code
