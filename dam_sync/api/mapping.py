"""The Python interface to a mapping."""

from __future__ import annotations

from collections.abc import Mapping as Dictionary
from pathlib import Path
from typing import Any

from dam_sync.config.diagnostics import SourceMap
from dam_sync.config.job import GivenMapping
from dam_sync.mapping.compile import compile_reading
from dam_sync.mapping.crosswalk import run_tests
from dam_sync.mapping.document import mapping_of_file, mapping_of_text, reading_of, refuse_faulty
from dam_sync.model.diagnostic import Diagnostic
from dam_sync.model.errors import MappingError
from dam_sync.model.schema import Schema


class Mapping:
    """How fields of the target are filled from the source. Relative paths of tables are resolved against `folder`."""

    def __init__(self, data: Dictionary[str, Any], folder: Path | str = ".") -> None:
        """From the keys of a mapping file. Raises MappingError with every diagnostic."""
        self._keep(GivenMapping(SourceMap.of_code("mapping", data), Path(folder).absolute()))

    @classmethod
    def load(cls, path: Path | str) -> Mapping:
        """The mapping of a file. Raises MappingError with every diagnostic, its file and line."""
        return cls.__new__(cls)._keep(GivenMapping(mapping_of_file(Path(path)), Path(path).absolute().parent))

    @classmethod
    def from_text(cls, text: str, folder: Path | str = ".") -> Mapping:
        """A mapping from YAML text."""
        return cls.__new__(cls)._keep(GivenMapping(mapping_of_text(text), Path(folder).absolute()))

    def _keep(self, given: GivenMapping) -> Mapping:
        refuse_faulty(reading_of(given.written, given.folder))
        self.given = given
        return self

    def check(self, source: Schema, target: Schema) -> tuple[Diagnostic, ...]:
        """Check the mapping against two services. Returns diagnostics and failing examples."""
        try:
            reading = reading_of(self.given.written, self.given.folder)
            document, crosswalk = compile_reading(reading, source, target)
        except MappingError as error:
            return error.diagnostics
        return tuple(run_tests(document, crosswalk))
