"""XML text to a tree of the elements that a grammar names, safely.

Document type declarations are refused, so no entity is ever expanded or fetched. Names are compared
as written, with their prefix: readers of URDF know no namespaces.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from xml.etree import ElementTree
from xml.parsers import expat

from kane_dynamics.errors import ModelError

XACRO_PREFIX = "xacro:"
"""With which the names of all elements of xacro start."""

_DEEPEST = 500
_BLANKS = b" \t\r\n"


class Element(ElementTree.Element):
    """An element that urdf_parser_py can read: in ROS 2 it asks for children as lxml names them."""

    def getchildren(self) -> list[ElementTree.Element]:
        return list(self)


@dataclass(frozen=True, slots=True)
class Value:
    """What an attribute may hold, in words and as a test of its text."""

    expected: str
    accepts: Callable[[str], bool]


@dataclass(frozen=True, slots=True)
class Grammar:
    """What an element may hold; anything else in it is dropped.

    Parameters
    ----------
    attributes : mapping of str to Value
        Attributes by name.
    children : mapping of str to Grammar
        Child elements by name.
    needs : tuple of str
        Attributes and children that must be there.
    repeated : frozenset of str
        Children that may be there more than once; of others, the first is kept.
    """

    attributes: Mapping[str, Value] = field(default_factory=dict)
    children: Mapping[str, Grammar] = field(default_factory=dict)
    needs: tuple[str, ...] = ()
    repeated: frozenset[str] = frozenset()


def fault(element: ElementTree.Element, grammar: Grammar) -> str | None:
    """Say what is wrong with an element that was parsed with this grammar; None if nothing is."""
    tag = f"<{element.tag}>"
    for name in grammar.needs:
        if name in grammar.attributes and name not in element.attrib:
            return f"{tag} has no {name}, expected {grammar.attributes[name].expected}"
        if name in grammar.children and element.find(name) is None:
            return f"{tag} has no <{name}>, expected one"
    for name, text in element.attrib.items():
        if not grammar.attributes[name].accepts(text):
            shown = text if len(text) < 60 else f"{text[:57]}..."
            return f"{tag} has {name}={shown!r}, expected {grammar.attributes[name].expected}"
    for child in element:
        found = fault(child, grammar.children[child.tag])
        if found:
            return f"{tag}{found}"
    return None


def parse(
    data: bytes,
    root: str,
    grammar: Grammar,
    source: str,
    encoding: str | None,
    xacro: bool = False,
) -> Element:
    """Return what the grammar names of an XML document.

    Parameters
    ----------
    data : bytes
        The document.
    root : str
        Name that the outermost element must have.
    grammar : Grammar
        What the outermost element may hold.
    source : str
        Name of the document, for messages.
    encoding : str, optional
        Encoding of `data`, whatever the document declares; None for what it declares.
    xacro : bool
        Whether elements of xacro may be there, which stand for others and are dropped here.

    Raises
    ------
    ModelError
        If the document is empty, no XML, declares a document type, has another root, or has
        elements of xacro where they may not be.
    """
    text = data.lstrip(_BLANKS)
    if not text:
        raise ModelError(f"{source}: is empty, expected a <{root}> element")
    builder = _Builder(root, grammar, source, xacro)
    parser = expat.ParserCreate(encoding)
    parser.buffer_text = True
    parser.StartElementHandler = builder.start
    parser.EndElementHandler = builder.end
    parser.StartDoctypeDeclHandler = builder.refuse_doctype
    try:
        parser.Parse(text, True)
    except expat.ExpatError as error:
        line = error.lineno + data[: len(data) - len(text)].count(b"\n")
        reason = expat.ErrorString(error.code)
        raise ModelError(f"{source}: is not XML: {reason} in line {line}") from None
    except (LookupError, ValueError) as error:
        if isinstance(error, ModelError):
            raise
        raise ModelError(f"{source}: cannot be decoded: {error}") from None
    return builder.tree


class _Builder:
    """Builds the tree from expat's events; `open` holds the kept elements not yet closed."""

    def __init__(self, root: str, grammar: Grammar, source: str, xacro: bool) -> None:
        self.source = source
        self.xacro = xacro
        self.root = root
        self.grammar = grammar
        self.tree = Element(root)
        self.open: list[tuple[Element, Grammar]] = []
        self.depth = 0

    def start(self, name: str, attributes: dict[str, str]) -> None:
        self.depth += 1
        if self.depth > _DEEPEST:
            raise ModelError(
                f"{self.source}: <{name}> is nested deeper than {_DEEPEST} elements"
                ", expected a URDF"
            )
        if name.startswith(XACRO_PREFIX) and not self.xacro:
            raise ModelError(
                f"{self.source}: <{name}> is not URDF, expected xacro only in a file that is"
                " loaded by its path and named .xacro"
            )
        if self.depth == 1:
            if name != self.root:
                raise ModelError(f"{self.source}: starts with <{name}>, expected <{self.root}>")
            self._keep(self.tree, self.grammar, attributes)
        elif self.depth == len(self.open) + 1:
            parent, grammar = self.open[-1]
            child = grammar.children.get(name)
            if child and (name in grammar.repeated or parent.find(name) is None):
                element = Element(name)
                parent.append(element)
                self._keep(element, child, attributes)

    def _keep(self, element: Element, grammar: Grammar, attributes: dict[str, str]) -> None:
        for name in grammar.attributes:
            if name in attributes:
                element.set(name, attributes[name])
        self.open.append((element, grammar))

    def end(self, name: str) -> None:
        if self.depth == len(self.open):
            self.open.pop()
        self.depth -= 1

    def refuse_doctype(self, name: str, *_: object) -> None:
        raise ModelError(
            f"{self.source}: declares the document type {name!r}, expected no <!DOCTYPE> in a URDF"
        )
