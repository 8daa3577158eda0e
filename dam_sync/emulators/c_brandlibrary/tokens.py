"""Words that a deployment spells its own way (wire C 0), put on at the edge: within, they are the contract's."""

from __future__ import annotations

from collections.abc import Mapping

from dam_sync.emulators.kit.environment import Json

WORDS = ("libraries", "library")
_NAMED = ("type", "resource_type")


class Tokens:
    """The deployment's own words for `libraries` and `library`; by default the contract's."""

    def __init__(self, words: Mapping[str, str]) -> None:
        unknown = set(words) - set(WORDS)
        if unknown:
            raise ValueError(f"unknown token {', '.join(sorted(unknown))}; there are {', '.join(WORDS)}")
        self._own = {word: words.get(word, word) for word in WORDS}
        self._plain = {own: word for word, own in self._own.items()}
        self.changed = any(word != own for word, own in self._own.items())

    def path(self, path: str) -> str:
        """A path as the deployment has it."""
        return path.replace("/libraries", f"/{self._own['libraries']}")

    def own(self, word: str) -> str:
        """The deployment's word."""
        return self._own[word]

    def names(self, text: str) -> str:
        """A comma list of includes in the contract's words; the contract's own are unknown where others are used."""
        return ",".join(self._plain.get(part, f"-{part}" if part in WORDS else part) for part in text.split(","))

    def inward(self, word: Json) -> Json:
        """One of the deployment's words in the contract's."""
        return self._plain.get(word, word) if isinstance(word, str) else word

    def outward(self, data: Json) -> Json:
        """A response in the deployment's words: types, relationships, members that are named after a library."""
        if isinstance(data, list):
            return [self.outward(item) for item in data]
        if not isinstance(data, dict):
            return data
        return {self._key(key): self._value(key, value) for key, value in data.items()}

    def _key(self, key: str) -> str:
        return f"{self._own['library']}_key" if key == "library_key" else key

    def _value(self, key: str, value: Json) -> Json:
        if key in _NAMED and isinstance(value, str):
            return self._own.get(value, value)
        if key == "relationships" and isinstance(value, dict):
            return {self._own.get(name, name): self.outward(each) for name, each in value.items()}
        return self.outward(value)
