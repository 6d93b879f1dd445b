"""`fanwise baseline`: name a version of a run that later ones are held against."""

from __future__ import annotations

from contextlib import closing

from fanwise.cli.messages import print_json, say
from fanwise.cli.options import JournalOption, JsonOption, RunArgument
from fanwise.cli.recorded_run import installed, recorded_version
from fanwise.errors import UsageError

HELP = """Make a version of a matrix its baseline.

\b
  fanwise baseline sentiment        the latest version
  fanwise baseline sentiment@2      version 2

From then on sentiment@baseline means that version, whatever runs later: in
`fanwise compare sentiment@baseline sentiment`, and in `expect:` of a file.
"""


def baseline(
    run_id: RunArgument, journal: JournalOption = None, as_json: JsonOption = False
) -> None:
    from fanwise.journal.open import open_journal
    from fanwise.specs.system import VersionedSystem

    with recorded_version(journal, run_id) as (_, run, version):
        found = installed(run.kind)
    if not isinstance(found, VersionedSystem):
        raise UsageError(f"runs of `{run.kind}` have no versions ({run_id})")
    with closing(open_journal(journal)) as opened:
        number = found.set_baseline(opened, run, version.get("version", "latest"))
    if as_json:
        print_json({"run": run.id, "baseline": number})
    else:
        say(f"{run.id}@baseline is version {number}")
