"""The result of `redirects`, as data."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field

from dam_sync.model.values import Json


@dataclass(slots=True)
class RedirectReport:
    """redirects: old links with a counterpart. without: reason, number and examples of those without one; left_out: of
    those whose new link more people could open than before. accepted: rule and number of those that a rule let through.
    probes: responses of old links, and of new ones that are published, by status. files: those that were written.
    links: the first redirects."""

    job: str
    redirects: int = 0
    without: list[dict[str, Json]] = field(default_factory=list)
    left_out: list[dict[str, Json]] = field(default_factory=list)
    accepted: list[dict[str, Json]] = field(default_factory=list)
    probes: dict[str, dict[str, int]] = field(default_factory=dict)
    files: list[str] = field(default_factory=list)
    links: list[dict[str, str]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    @property
    def works(self) -> bool:
        """Whether every new link that was asked can be downloaded."""
        return all(status.startswith("2") for status in self.probes.get("new", {}))

    def as_json(self) -> dict[str, Json]:
        """For `--json`."""
        return asdict(self)
