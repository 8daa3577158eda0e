"""Which library a connection leads to, in a form in which two of them can be compared: a job must not read a library
and write into it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from enum import Enum

from dam_sync.model.url_forms import Address, address_of, is_local, without_api_path


class Overlap(Enum):
    """What two libraries have in common, as a sentence with a place for what was compared."""

    SAME = "the source and the target are the same library: {}"
    TARGET_INSIDE = "the target lies inside the source: {}"
    SOURCE_INSIDE = "the source lies inside the target: {}"
    POSSIBLE = "the source and the target may be the same library: {}"

    @property
    def is_certain(self) -> bool:
        """Whether nothing may be written."""
        return self is not Overlap.POSSIBLE


@dataclass(frozen=True, slots=True)
class Library:
    """One library.

    itself: everything by which it is known, each of which belongs to no other library; above: the same of all that it
    lies in. shown: for people. Of a library that is reached by URLs also these: name: what the service calls it, or the
    customer; within: the folder in which it begins; is_shared: whether many customers have the same URL, so that the
    name alone says which of them it is.
    """

    kind: str
    shown: str
    itself: frozenset[object] = frozenset()
    above: frozenset[object] = frozenset()
    addresses: frozenset[Address] = frozenset()
    name: str = ""
    within: tuple[str, ...] = ()
    is_shared: bool = False

    @classmethod
    def of_server(
        cls, kind: str, base_url: str, paths: tuple[str, ...], name: str = "", within: tuple[str, ...] = ()
    ) -> Library:
        """A library of a server that belongs to one customer. paths: those of the API, which may be part of the URL;
        name: of the repository, where a server has several."""
        address = _server_of(address_of(base_url), paths)
        shown = ", ".join(filter(None, (address.text, name, "/".join(("", *within)))))
        found = cls(kind, shown, name=name, within=within)
        return found.reached_at(frozenset({address}))

    @classmethod
    def of_customer(cls, kind: str, urls: Iterable[str], name: str) -> Library:
        """The library of one customer of a service whose URLs many have. name: empty if nobody says whose it is."""
        addresses = frozenset(address_of(url)._replace(path="") for url in urls if url)
        shown = f"{name or 'a customer'} at {min(addresses).text}"
        return cls(kind, shown, name=name, is_shared=True).reached_at(addresses)

    def reached_at(self, addresses: frozenset[Address]) -> Library:
        """The same library, reached at these addresses."""
        if self.is_shared and not self.name:
            return replace(self, addresses=addresses)
        heads = [self.within[:length] for length in range(len(self.within))]
        return replace(
            self,
            addresses=addresses,
            itself=frozenset((one, self.name, self.within) for one in addresses),
            above=frozenset((one, self.name, head) for one in addresses for head in heads),
        )

    @property
    def is_local(self) -> bool:
        """Whether it is on this computer, by its addresses."""
        return all(is_local(one.host) for one in self.addresses)


def overlap_of(source: Library, target: Library) -> Overlap | None:
    """What the two have in common, as far as they are known; None if they are two."""
    if source.kind != target.kind:
        return None
    if source.itself & target.itself:
        return Overlap.SAME
    if source.itself & target.above:
        return Overlap.TARGET_INSIDE
    if target.itself & source.above:
        return Overlap.SOURCE_INSIDE
    return Overlap.POSSIBLE if _may_be_one(source, target) else None


def _may_be_one(source: Library, target: Library) -> bool:
    """Whether both are called the same at addresses of which nobody knows that they are two services, or have one
    address at which nobody said which of many tenants it is."""
    if not (source.is_shared and target.is_shared):
        return False
    if source.name and target.name:
        return source.name == target.name and not (source.is_local and target.is_local)
    return bool(source.addresses & target.addresses)


def reached_alike(source: Library, target: Library, numbers: Callable[[str], frozenset[str]]) -> Overlap | None:
    """The same by the IP addresses of the hosts. Two names of one host are a hint only: a host may serve many tenants,
    and tell them from each other by the name. numbers: the IP addresses of a host."""
    if source.kind != target.kind or not (source.addresses and target.addresses):
        return None
    found = overlap_of(*(one.reached_at(_numbered(one.addresses, numbers)) for one in (source, target)))
    return found if found is None or source.is_shared else Overlap.POSSIBLE


def _numbered(addresses: frozenset[Address], numbers: Callable[[str], frozenset[str]]) -> frozenset[Address]:
    return frozenset(one._replace(host=number) for one in addresses for number in numbers(one.host))


def _server_of(address: Address, paths: tuple[str, ...]) -> Address:
    """The address without the path of the API. A server does not tell paths from each other by their case only."""
    return address._replace(path=without_api_path(address.path.casefold(), paths))
