"""A table of a mapping is read the same, whatever else the process has loaded."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

OTHERS = ("", "import dam_sync.api.csv_rows", "import dam_sync.services.folder.api.sheet")
READ = """
{other}
from pathlib import Path
from dam_sync.mapping.tables import read_table
print(len(read_table(Path({folder!r}), "large.csv", "key", "value")["a"]))
"""


@pytest.mark.parametrize("other", OTHERS)
def test_a_cell_of_200_kb_is_read_whatever_was_loaded(tmp_path: Path, other: str) -> None:
    (tmp_path / "large.csv").write_text(f"key,value\na,{'x' * 200_000}\n", encoding="utf-8")
    code = READ.format(other=other, folder=str(tmp_path))
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == ("200000\n", "")
