"""A driver that may be killed in the middle, and the one that continues its run. Prints JSON."""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path

from fanwise import Outcomes, Ray, fan_out, open_run
from tests.cluster import works


async def main(folder: Path) -> Outcomes[int]:
    async with open_run("r", journal=folder / "j.db", on=Ray(workers=2)) as run:
        Path(folder, "driver").write_text("")
        return await fan_out(works.Traced(str(folder)), range(30), cap=6, run=run)


if __name__ == "__main__":
    outcomes = asyncio.run(main(Path(sys.argv[1])))
    found = {
        "values": outcomes.values(),
        "recorded": [each.index for each in outcomes if each.recorded],
        "twice": [each.index for each in outcomes.may_have_run_twice],
    }
    print(json.dumps(found))
