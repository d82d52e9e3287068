#!/usr/bin/env python3
"""Prints the figures of the house: how large its rooms are, and how it speaks.

    house.py            prints them
    house.py --check    fails if something is over a limit that house.txt does not list, or has grown since
    house.py --update   takes from house.txt what has shrunk; nothing is added to it

house.txt lists what is over a limit today. A new exception needs a line there by hand, and a protocol's line says why it is one.
"""

import collections
import pathlib
import re
import sys

root = pathlib.Path(__file__).resolve().parent.parent
record = root / ".scripts/house.txt"
# The number that each figure may reach. A protocol that is not public has two conforming types in Sources, or a reason.
limits = {"folder": 15, "files": 3, "variables": 15, "unlabelled": 2, "protocol": 0, "columns": 140}
what = {
    "folder": "files in a folder",
    "files": "files of a class or actor in one target, without those that only declare types within it",
    "variables": "stored variables of a class or actor (var, Atomic, Locked)",
    "unlabelled": "unlabelled parameters of a function",
    "protocol": "protocols that are not public and have fewer than two conforming types",
    "columns": "columns of the longest line in a file",
}
markers = [
    r"(?:that|those) of", r"of (?:which|whom)", r"(?:because|by|in|through|behind|for|with|on|from|to|at) which", r"in place of",
    r"(?:the|a) own", r"but for", r"of (?:its|their) own", r"`nil` if there (?:is|are) n",
]

# Comments, strings and regular expressions; the code of an interpolation is skipped too.
literal = re.compile(
    r'//[^\n]*|/\*.*?\*/|#/.*?/#|(?P<hashes>\#*)"""(?:\\.|(?!"""(?P=hashes)).)*"""(?P=hashes)'
    r'|(?P<more>\#+)"(?:(?!"(?P=more)).)*"(?P=more)|"(?:\\\((?:[^()]|\((?:[^()]|\([^()]*\))*\))*\)|\\.|[^"\\\n])*"', re.S)
token = re.compile(r"`?\w+`?|->|[^\w\s]|\n")
pairs = {"(": ")", "[": "]", "{": "}"}


class Parser:
    """Finds the declarations of one file, approximately as the compiler does."""

    def __init__(self, text):
        code = literal.sub(lambda match: '""' if "\"" in match[0][:4] else "", text)
        self.tokens = token.findall(code)
        self.types = []  # (name, kind, whether it is public, inherited names)
        self.extensions = []  # (name, inherited names)
        self.variables = collections.Counter()
        self.unlabelled = {}
        self.scan(0, len(self.tokens), [], "file")

    def closing(self, start):
        """Returns the index of the bracket that closes the one at `start`."""
        depth = 0
        for index in range(start, len(self.tokens)):
            depth += (self.tokens[index] in pairs) - (self.tokens[index] in pairs.values())
            if depth == 0:
                return index
        return len(self.tokens)

    def find(self, start, end, marks):
        """Returns the index of the first of some tokens outside of round and square brackets."""
        while start < end and self.tokens[start] not in marks:
            start = self.closing(start) + 1 if self.tokens[start] in ("(", "[") else start + 1
        return start

    def scan(self, start, end, path, kind):
        modifiers, index = set(), start
        while index < end:
            word, before = self.tokens[index], self.tokens[index - 1] if index else "\n"
            following = self.tokens[index + 1] if index + 1 < end else "\n"
            is_declaration = before not in (".", ":", ",", "&") and re.match(r"[`\[A-Za-z_]", following)
            if word in ("class", "struct", "enum", "actor", "protocol", "extension") and is_declaration \
                    and following not in ("func", "var", "subscript", "let") and kind != "code":
                index = self.scan_type(index, end, path, word, modifiers)
                modifiers = set()
            elif word in ("func", "init") and before != "." and (word == "func" or following in ("(", "?", "<", "!")):
                index = self.scan_function(index, end, path)
                modifiers = set()
            elif word in ("var", "let") and before not in (".", "case") and kind in ("class", "actor"):
                index = self.scan_variable(index, end, path, is_static=bool(modifiers & {"static", "class"}))
                modifiers = set()
            elif word == "{":
                index = self.closing(index)
                modifiers = set()
            else:
                if word != "\n":
                    modifiers.add(word)
                elif before not in ("\n", ")") and not before.startswith("@"):
                    modifiers = set()
                index += 1

    def scan_type(self, index, end, path, kind, modifiers):
        opening = self.find(index, end, ("{",))
        header = self.tokens[index + 1:opening]
        if "where" in header:
            header = header[:header.index("where")]
        name, inherited, depth = "", [], 0
        for position, word in enumerate(header):
            depth += (word in ("<", "(", "[")) - (word in (">", ")", "]"))
            if word == ":" and depth == 0:
                inherited = [w for w in header[position + 1:] if re.match(r"\w", w)]
                break
            if depth == 0 and (re.match(r"`?\w", word) or word == "."):
                name += word
        full = path + [name]
        if kind == "extension":
            if inherited or not self.has_only_types(opening + 1, self.closing(opening)):
                self.extensions.append((name, inherited))
        else:
            self.types.append((".".join(full), kind, "public" in modifiers or "open" in modifiers, inherited))
        closing = self.closing(opening)
        self.scan(opening + 1, closing, full, kind)
        return closing + 1

    def has_only_types(self, start, end):
        """Returns whether an extension is no more than the namespace of types."""
        words = []
        while start < end:
            words.append(self.tokens[start])
            start = self.closing(start) + 1 if self.tokens[start] in pairs else start + 1
        return bool({"class", "struct", "enum", "actor"} & set(words)) and not {"func", "var", "let", "init", "subscript"} & set(words)

    def scan_function(self, index, end, path):
        opening = self.find(index + 1, end, ("(",)) if self.tokens[index] == "init" else index + 2
        while opening < end and self.tokens[opening] != "(":
            opening += 1
        closing = self.closing(opening)
        labels, is_first, depth = [], True, 0
        for position in range(opening + 1, closing):
            word = self.tokens[position]
            depth += (word in ("(", "[", "{", "<")) - (word in (")", "]", "}", ">"))
            if depth == 0 and word == ",":
                is_first = True
            elif is_first and re.match(r"`?[A-Za-z_]", word) and self.tokens[position - 1] != "@":
                labels.append(word)
                is_first = False
        name = "init" if self.tokens[index] == "init" else self.tokens[index + 1]
        if labels.count("_") > 0:
            self.unlabelled[".".join(path + [name]) + "(" + "".join(f"{label}:" for label in labels) + ")"] = labels.count("_")
        # The body, if there is one before the next declaration, is scanned for functions by the caller only in types.
        body = self.find(closing + 1, end, ("{", "func", "var", "let", "init", "static", "}"))
        if body < end and self.tokens[body] == "{":
            last = self.closing(body)
            self.scan(body + 1, last, path + [name], "code")
            return last + 1
        return body if body > index else index + 1

    def scan_variable(self, index, end, path, is_static):
        line_end = index
        while line_end < end and self.tokens[line_end] not in ("\n", "{", "="):
            line_end = self.closing(line_end) if self.tokens[line_end] in ("(", "[") else line_end
            line_end += 1
        names = [word for word in self.tokens[index + 1:line_end] if re.match(r"`?\w", word)]
        is_tuple = self.tokens[index + 1] == "("
        count = 1 + self.tokens[index + 1:self.closing(index + 1)].count(",") if is_tuple else 1
        following = line_end
        is_computed = False
        if following < end and self.tokens[following] == "{":
            inside = [w for w in self.tokens[following + 1:following + 4] if w != "\n"]
            is_computed = not inside or inside[0] not in ("willSet", "didSet")
        line = " ".join(self.tokens[index:self.find(line_end, end, ("\n",))])
        is_state = self.tokens[index] == "var" or re.search(r"\b(?:Atomic|Locked)\b", line)
        if is_state and not is_static and not is_computed and names:
            self.variables[".".join(path)] += count
        return following if following > index else index + 1


def of_sources():
    """Returns the Swift files of Sources with their targets."""
    for path in sorted((root / "Sources").glob("**/*.swift")):
        yield path.relative_to(root / "Sources").parts[0], path


def measure():
    figures = collections.defaultdict(dict)
    places, references, protocols, conformers = collections.defaultdict(set), set(), set(), collections.Counter()
    lines, words, dialect = collections.Counter(), collections.Counter(), collections.Counter()
    for path in (root / "Sources").glob("**/*"):
        if path.is_file() and ".docc" not in str(path):
            folder = str(path.parent.relative_to(root))
            figures["folder"][folder] = figures["folder"].get(folder, 0) + 1
    for target, path in of_sources():
        text = path.read_text()
        parser = Parser(text)
        lines[target] += text.count("\n")
        figures["columns"][str(path.relative_to(root))] = max(map(len, text.split("\n")))
        for name, kind, is_public, inherited in parser.types:
            places[target, name].add(path)
            if kind in ("class", "actor"):
                references.add((target, name))
            if kind == "protocol" and not is_public:
                protocols.add(name.split(".")[-1])
            if kind != "protocol":
                conformers.update(set(inherited))
        for name, inherited in parser.extensions:
            places[target, name].add(path)
            conformers.update(set(inherited))
        for name, count in parser.variables.items():
            figures["variables"][name] = max(count, figures["variables"].get(name, 0))
        figures["unlabelled"].update(parser.unlabelled)
        comments = " ".join(re.sub(r"\s*///?", "", match[0]) for match in re.finditer(r"^\s*//.*$|(?<=\s)// .*$", text, re.M))
        words[target] += len(comments.split())
        dialect[target] += sum(len(re.findall(rf"\b{marker}", comments)) for marker in markers)
    for page in (root / "Sources").glob("**/*.md"):
        text = page.read_text()
        words["articles"] += len(text.split())
        dialect["articles"] += sum(len(re.findall(rf"\b{marker}", text)) for marker in markers)
    for target, name in references:
        figures["files"][name] = max(len(places[target, name]), figures["files"].get(name, 0))
    figures["protocol"] = {name: 1 for name in protocols if conformers[name] < 2}
    return figures, lines, words, dialect


def recorded():
    entries = {}
    for line in record.read_text().splitlines() if record.exists() else []:
        if line and not line.startswith("#"):
            kind, name, value = (line.split(maxsplit=2) + [""])[:3]
            entries[kind, name] = value
    return entries


def main():
    figures, lines, words, dialect = measure()
    over = {(kind, name): value for kind in limits for name, value in figures[kind].items() if value > limits[kind]}
    known = recorded()
    if "--check" in sys.argv:
        bound = {key: int(value) if key[0] != "protocol" else 1 for key, value in known.items()}
        bad = sorted(f"{kind} {name}: {value}, at most {max(bound.get((kind, name), 0), limits[kind])} ({what[kind]})"
                     for (kind, name), value in over.items() if value > bound.get((kind, name), 0))
        print("\n".join(f"error: {line}" for line in bad) or f"{len(over)} exceptions, none of them new")
        return 1 if bad else 0
    if "--update" in sys.argv:
        kept = {key: value if key[0] == "protocol" else str(min(int(value), over[key])) for key, value in known.items() if key in over}
        header = [line for line in record.read_text().splitlines() if line.startswith("#")]
        record.write_text("\n".join(header + [" ".join(filter(None, (*key, value))) for key, value in sorted(kept.items())]) + "\n")
        print(f"{len(known) - len(kept)} exceptions fewer")
        return 0
    for kind in limits:
        of_kind = sorted(((value, name) for (key, name), value in over.items() if key == kind), reverse=True)
        print(f"{what[kind]}: {len(of_kind)} over {limits[kind]}")
        for value, name in of_kind[:None if "--all" in sys.argv else 12]:
            print(f"  {value:4}  {name}")
    print("lines, words of comments, dialect markers in 1,000 words")
    for target in sorted(set(lines) | set(words), key=lambda target: -lines[target]):
        print(f"  {lines[target]:6} {words[target]:7} {1000 * dialect[target] / max(words[target], 1):6.2f}  {target}")
    print(f"  {sum(lines.values()):6}  together")
    return 0


sys.exit(main())
