"""Forms, trees, lookups and users as the service writes them."""

from __future__ import annotations

from collections.abc import Sequence

from dam_sync.emulators.a_hypermedia.hal import Writer, embedded, titled
from dam_sync.emulators.a_hypermedia.records import Folder, Node, User
from dam_sync.emulators.a_hypermedia.schema import Form, FormField, Lookup
from dam_sync.emulators.a_hypermedia.state import Library
from dam_sync.emulators.kit.environment import Json


class SchemaViews:
    """Writes everything that is not a media."""

    def __init__(self, library: Library, writer: Writer) -> None:
        self.library, self.writer = library, writer

    def form(self, form: Form, *, force: bool) -> dict[str, Json]:
        """A form with its fields."""
        own = f"/forms/{form.id}"
        links: dict[str, Json] = {"self": self.writer.link(own)}
        links[self.writer.rel("extensions")] = self.writer.link(f"{own}/extensions")
        fields = [self.field(field, f"{own}/fields/{field.id}") for field in form.fields.values()]
        body = {"id": form.id, "title": form.title, "type": form.type, "_links": links}
        return body | embedded({"field": fields}, force)

    def field(self, field: FormField, own: str) -> dict[str, Json]:
        """A field of a form or of the instance-wide list; `own` is its path."""
        link, rel = self.writer.link, self.writer.rel
        links = {"self": link(own), rel("sheet-field"): link(f"/sheet-fields/{field.name}")}
        if field.root:
            links[rel("thesaurus")] = link(f"/thesauruses/{field.root}")
        if field.lookup and self.library.schema.lookups[field.lookup].values:
            links[rel("lookup")] = link(f"/forms/lookups/{field.lookup}")
        body: dict[str, Json] = {
            "id": field.id,
            "internalName": field.name,
            "title": field.title,
            "type": field.type,
            "mandatory": field.mandatory,
            "indexed": field.indexed,
            "indexSuggest": field.suggest,
            "forceSelection": field.force_selection,
            "editable": field.editable,
            "visible": field.visible,
            "localized": field.localized,
            "_links": links,
        }
        return body if field.max_length is None else body | {"maxLength": field.max_length}

    def lookup(self, lookup: Lookup, *, force: bool) -> dict[str, Json]:
        """A list with its values."""
        values = [{"id": number, "title": title} for number, title in lookup.values.items()]
        links = {"self": self.writer.link(f"/forms/lookups/{lookup.id}")}
        return {"id": lookup.id, "title": lookup.title, "_links": links} | embedded({"value": values}, force)

    def status(self, number: int) -> dict[str, Json]:
        """A custom status with its base."""
        title, base = self.library.schema.statuses[number]
        links = {"self": self.writer.link(f"/medias/custom-statuses/{number}")}
        return {"id": number, "title": title, "status": base, "_links": links}

    def thesaurus(self, node: Node, language: str) -> dict[str, Json]:
        """A thesaurus or term with all its texts."""
        codes = self.library.languages
        return {
            "id": node.id,
            "title": titled(node.titles, language),
            "titles": {code.upper(): node.titles[code] for code in codes if code in node.titles},
            "descriptions": {code.upper(): node.descriptions.get(code, "") for code in codes},
            "synonyms": {code.upper(): node.synonyms.get(code, []) for code in codes},
            "_links": self.writer.links(f"/thesauruses/{node.id}", thesaurus_tree_node=f"/thesaurus-tree/{node.id}"),
        }

    def thesaurus_tree(self, number: int, language: str, *, force: bool) -> dict[str, Json]:
        """A node with its direct children; 0 for the roots."""
        nodes = self.library.thesauri.nodes
        own = f"/thesaurus-tree/{number}" if number else "/thesaurus-tree"
        children = nodes[number].children if number else self.library.thesauri.roots
        rows = [self.term(nodes[at], language) for at in children]
        links = self.writer.links(own, **({"thesaurus": f"/thesauruses/{number}"} if number else {}))
        head = {"id": number, "title": titled(nodes[number].titles, language)} if number else {}
        return {**head, "_links": links, **embedded({"child": rows}, force), "childrenCount": len(rows)}

    def term(self, node: Node, language: str) -> dict[str, Json]:
        """A node as it is embedded in the one above; its address may be spelled as a child's."""
        own = f"/thesaurus-tree/{node.parent}/children/{node.id}" if node.parent else f"/thesaurus-tree/{node.id}"
        links = {"self": self.writer.link(own)}
        links[self.writer.rel("thesaurus")] = self.writer.link(f"/thesauruses/{node.id}")
        return {"id": node.id, "title": titled(node.titles, language), "_links": links}

    def folder_tree(
        self, children: Sequence[int], user: User, folder: Folder | None, *, force: bool
    ) -> dict[str, Json]:
        """A folder with its direct children that the user may see; without a folder the roots."""
        own = f"/folder-tree/{folder.id}" if folder else "/folder-tree"
        rows = [self._folder_child(self.library.folders.by_id[at]) for at in children]
        related = {"folder": f"/folders/{folder.id}", "medias": f"{own}/medias"} if folder else {}
        head: dict[str, Json] = {}
        if folder:
            head = {"id": folder.id, "title": folder.title, "description": folder.description}
            head["permission"] = user.permission
        links = self.writer.links(own, **related)
        return {**head, "_links": links, **embedded({"child": rows}, force), "childrenCount": len(rows)}

    def _folder_child(self, folder: Folder) -> dict[str, Json]:
        link, rel, own, medias = self.writer.link, self.writer.rel, f"/folder-tree/{folder.id}", self.library.medias
        links = {"self": link(own), rel("folder"): link(f"/folders/{folder.id}"), rel("medias"): link(f"{own}/medias")}
        return {
            "id": folder.id,
            "title": folder.title,
            "description": folder.description,
            "treeMediaCount": sum(medias[at].trashed is None for at in self.library.folders.tree_members(folder.id)),
            "hasChildren": bool(folder.children),
            "_links": links,
        }

    def folder(self, folder: Folder, user: User) -> dict[str, Json]:
        """A folder by itself."""
        tree = f"/folder-tree/{folder.id}"
        links = self.writer.links(f"/folders/{folder.id}", folder_tree_node=tree, medias=f"/folders/{folder.id}/medias")
        body = {"id": folder.id, "title": folder.title, "description": folder.description}
        return {**body, "permission": user.permission, "_links": links}

    def user(self, user: User) -> dict[str, Json]:
        """A user with the way to their selections."""
        first, _, last = user.login.title().partition("-")
        own = f"/users/{user.id}"
        return {
            "id": user.id,
            "login": user.login,
            "lastName": last,
            "firstName": first,
            "email": f"{user.login}@customer.example",
            "acronym": user.login[:3].upper(),
            "externalAuthentication": False,
            "permission": "READ",
            "_links": self.writer.links(own, selections=f"{own}/selections"),
        }
