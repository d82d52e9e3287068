#!/usr/bin/env python3
"""Writes a static site from archives that docc made: site.py FOLDER ARCHIVE…

Every article and symbol becomes a plain HTML page, readable without a script and from a folder of files. The sections of the site are the topic
groups of the first archive's module. A link that leads nowhere, an article or a type in no section, a group that mixes articles and symbols, and an
article of more than MAXIMUM_WORDS words are errors.
"""
import html
import json
import pathlib
import re
import shutil
import sys
import urllib.parse

MAXIMUM_WORDS = 1500
HERE = pathlib.Path(__file__).resolve().parent
PREFIX = "/documentation/"
errors, pages, generated = [], {}, {}
products = {}  # the types of the products beside the core, by their names
escape = html.escape


# Colours

SWIFT = (
    r"(?P<comment>//[^\n]*|/\*.*?\*/)"
    r'|(?P<string>#*"""(?:\\.|.)*?"""#*|#"[^\n]*?"#|"(?:\\.|[^"\\\n])*")'
    r"|(?P<attribute>@\w+|#\w+)"
    r"|(?P<number>\b\d[\d_]*(?:\.\d+)?\b)"
    r"|(?P<keyword>(?<![.\w`])(?:actor|any|as|async|await|borrowing|break|case|catch|class|consuming|continue|default|defer|deinit|do|else|enum"
    r"|extension|false|fallthrough|for|func|get|guard|if|import|in|init|inout|internal|is|let|mutating|nil|nonisolated|package|private|protocol"
    r"|public|repeat|rethrows|return|self|Self|set|some|static|struct|subscript|super|switch|throw|throws|true|try|typealias|var|where|while)\b)"
    r"|(?P<type>\b[A-Z]\w*)"
)
SHELL = (
    r"(?P<comment>(?<!\S)#[^\n]*)"
    r"""|(?P<string>"(?:\\.|[^"\\])*"|'[^']*')"""
    r"|(?P<type>\$\{?\w+\}?)"
    r"|(?P<attribute>(?<!\S)--?[A-Za-z][\w-]*)"
    r"|(?P<keyword>^(?:\$ )?[\w./-]+|(?<=\| )[\w./-]+|(?<=&& )[\w./-]+)"
)
OTHER = r"(?P<comment>(?<!\S)#[^\n]*)|(?P<string>\"(?:\\.|[^\"\\\n])*\")|(?P<number>\b\d+(?:\.\d+)?\b)|(?P<keyword>\b(?:true|false|null)\b)"
LANGUAGES = {"swift": SWIFT, "sh": SHELL, "shell": SHELL, "bash": SHELL, "console": SHELL, "json": OTHER, "yaml": OTHER, "dockerfile": SHELL}


def coloured(code, language):
    pattern = LANGUAGES.get((language or "").lower())
    if not pattern:
        return escape(code)
    result, end = [], 0
    for match in re.finditer(pattern, code, re.DOTALL | re.MULTILINE):
        result += [escape(code[end : match.start()]), f'<span class="{match.lastgroup}">{escape(match[0])}</span>']
        end = match.end()
    return "".join(result) + escape(code[end:])


def breakable(name):
    """A long name, which may be broken behind dots and colons."""
    return re.sub(r"(?<=[a-zA-Z_)][.:(])(?=[a-zA-Z_])", "<wbr>", name)


def heading(text):
    return re.sub("`([^`]+)`", r"<code>\1</code>", escape(text))


class Page:
    """A page of an archive: an article, a module, or a symbol."""

    def __init__(self, data):
        self.data, self.references = data, data["references"]
        self.url = data["variants"][0]["paths"][0].lower()
        self.metadata = data["metadata"]
        self.role, self.title = self.metadata["role"], self.metadata["title"]
        # docc makes a page for the members that a type has from each protocol of the standard library: its members go on the type's page.
        self.is_generated = data["kind"] == "article" and self.title.endswith(" Implementations")
        self.is_article = data["kind"] == "article" and not self.is_generated
        self.group = None
        self.words = 0
        self.is_in_link = False
        self.headings = []
        names = self.url.removeprefix(PREFIX).split("/")
        self.module = names[0]
        # Addresses do not name the core's module, so that they outlive a division of it.
        names = names[1:] if names[0] == "trellis" else names
        self.path = "index.html" if not names else ("" if self.is_article else "reference/") + "/".join(names) + ".html"
        self.root = "../" * self.path.count("/")

    def error(self, text):
        errors.append(f"{self.title} ({self.url}): {text}")

    # Links

    def target(self, identifier):
        """The title and the address of what an identifier refers to; no address for what has no page here, such as the standard library."""
        reference = self.references.get(identifier)
        if reference is None:
            self.error(f"a link without a target: {identifier}")
            return identifier, None
        kind = reference["type"]
        if kind == "link":
            return reference.get("title", identifier), reference["url"]
        if kind == "unresolvable":
            return reference["title"].removeprefix("Swift."), None
        url, _, anchor = reference["url"].partition("#")
        page = pages.get(url.lower())
        if page is None:
            if kind != "section":
                self.error(f"a link to a page that does not exist: {url}")
            return reference["title"], None
        if anchor and anchor.lower() not in page.anchors():
            self.error(f"a link to a heading that does not exist: {reference['url']}")
        return reference["title"], self.root + urllib.parse.quote(page.path) + (f"#{anchor.lower()}" if anchor else "")

    def anchors(self):
        return {block["anchor"].lower() for block in self.content() if block["type"] == "heading"}

    def content(self):
        for section in self.data.get("primaryContentSections", []):
            if section["kind"] == "content":
                yield from section["content"]

    def link(self, identifier, text=None):
        title, address = self.target(identifier)
        reference = self.references.get(identifier, {})
        text = text or (f"<code>{breakable(escape(title))}</code>" if reference.get("kind") == "symbol" else escape(title))
        return f'<a href="{escape(address)}">{text}</a>' if address else text

    # Text

    def inline(self, items):
        return "".join(self.run(item) for item in items)

    def run(self, item):
        kind = item["type"]
        if kind == "text":
            self.words += len(item["text"].split())
            if item["text"].startswith("doc:"):
                self.error(f"a link without a target: {item['text']}")
            return escape(item["text"])
        if kind == "codeVoice":
            self.words += 1
            code, product = f"<code>{escape(item['code'])}</code>", products.get(item["code"])
            # docc links to the products that a module depends on, and so not from the core's pages to those of the test kit.
            is_linked = product and self.module == "trellis" and not self.is_in_link
            return f'<a href="{self.root}{urllib.parse.quote(product.path)}">{code}</a>' if is_linked else code
        if kind == "reference":
            self.words += 1
            if not item.get("isActive", True):
                self.error(f"an inactive link: {item['identifier']}")
            self.is_in_link = True
            override = item.get("overridingTitleInlineContent")
            text = self.inline(override) if override else None
            self.is_in_link = False
            return self.link(item["identifier"], text)
        if kind == "image":
            reference = self.references[item["identifier"]]
            name = reference["variants"][0]["url"].lstrip("/")
            return f'<img src="{self.root}{escape(name)}" alt="{escape(reference.get("alt", ""))}">'
        tag = {"strong": "strong", "emphasis": "em", "strikethrough": "s", "newTerm": "dfn", "inlineHead": "strong"}.get(kind)
        if not tag:
            self.error(f"text of an unknown kind: {kind}")
            return ""
        return f"<{tag}>{self.inline(item['inlineContent'])}</{tag}>"

    def blocks(self, blocks):
        return "\n".join(self.block(block) for block in blocks)

    def block(self, block):
        kind = block["type"]
        if kind == "paragraph":
            return f"<p>{self.inline(block['inlineContent'])}</p>"
        if kind == "heading":
            if block["text"] == "Overview" and not self.headings:
                return ""
            anchor = escape(block["anchor"].lower())
            self.headings.append((block["level"], anchor, block["text"]))
            level = min(block["level"], 4)
            return f'<h{level} id="{anchor}"><a class="anchor" href="#{anchor}">{heading(block["text"])}</a></h{level}>'
        if kind == "codeListing":
            language = block.get("syntax") or ""
            code = coloured("\n".join(block["code"]), language)
            return f'<pre class="code {escape(language) or "output"}"><code>{code}</code></pre>'
        if kind == "aside":
            style = block["style"]
            name = block.get("name") or style.capitalize()
            return f'<aside class="{escape(style)} {escape(name.lower())}"><p class="label">{escape(name)}</p>{self.blocks(block["content"])}</aside>'
        if kind in ("unorderedList", "orderedList"):
            tag = "ul" if kind == "unorderedList" else "ol"
            return f"<{tag}>" + "".join(f"<li>{self.blocks(item['content'])}</li>" for item in block["items"]) + f"</{tag}>"
        if kind == "termList":
            items = "".join(
                f"<dt>{self.inline(item['term']['inlineContent'])}</dt><dd>{self.blocks(item['definition']['content'])}</dd>" for item in block["items"]
            )
            return f"<dl>{items}</dl>"
        if kind == "table":
            return self.table(block)
        self.error(f"a block of an unknown kind: {kind}")
        return ""

    def table(self, block):
        words = self.words
        rows = []
        for index, row in enumerate(block["rows"]):
            tag = "th" if index == 0 and block["header"] != "none" else "td"
            rows.append("<tr>" + "".join(f"<{tag}>{self.cell(cell)}</{tag}>" for cell in row) + "</tr>")
        self.words = words  # A table is looked up, not read.
        is_empty = not re.sub("<[^>]*>", "", rows[0])
        head = "" if is_empty else f"<thead>{rows[0]}</thead>"
        return f'<div class="table"><table>{head}<tbody>{"".join(rows[1:])}</tbody></table></div>'

    def cell(self, blocks):
        if len(blocks) == 1 and blocks[0]["type"] == "paragraph":
            return self.inline(blocks[0]["inlineContent"])
        return self.blocks(blocks)

    # Symbols

    def declaration(self, tokens):
        """The declaration with links to the types that have pages; a long one has a line for each parameter."""
        breaks = sum(len(token["text"]) for token in tokens) > 80
        result, depth = [], 0
        for token in tokens:
            text, kind = token["text"], token["kind"]
            if kind == "typeIdentifier" and token.get("identifier") in self.references:
                address = self.target(token["identifier"])[1]
                result.append(f'<a class="type" href="{escape(address)}">{escape(text)}</a>' if address else f'<span class="type">{escape(text)}</span>')
                continue
            if kind != "text":
                names = {"keyword": "keyword", "typeIdentifier": "type", "genericParameter": "type", "attribute": "attribute", "identifier": "name"}
                name = names.get(kind)
                result.append(f'<span class="{name}">{escape(text)}</span>' if name else escape(text))
                continue
            for character in text:
                if character in "([<" and not (breaks and character == "<"):
                    depth += 1
                elif character in ")]":
                    depth -= 1
                    if breaks and character == ")" and depth == 0:
                        result.append("\n")
                result.append(escape(character))
                if breaks and depth == 1 and character in "(,":
                    result.append("\n    ")
        text = "".join(result).replace("\n     ", "\n    ").replace("(\n    \n)", "()")
        return f'<pre class="declaration"><code>{text}</code></pre>'

    def members(self, identifiers):
        for identifier in identifiers:
            collection = generated.get(self.references.get(identifier, {}).get("url", "").lower())
            if collection is None:
                yield identifier
                continue
            self.references = collection.references | self.references
            for section in collection.data["topicSections"]:
                yield from section["identifiers"]

    def item(self, identifier):
        reference = self.references.get(identifier, {})
        abstract = self.quiet(reference.get("abstract", []))
        title = self.target(identifier)[0]
        fragments = reference.get("fragments")
        text = "".join(part["text"] for part in fragments) if fragments else title
        if len(text) > 110 or reference.get("kind") != "symbol":
            text = title
        name = f"<code>{breakable(coloured(text, 'swift'))}</code>" if reference.get("kind") == "symbol" else escape(title)
        return f"<dt>{self.link(identifier, name)}</dt><dd>{abstract}</dd>"

    def quiet(self, items):
        words, text = self.words, self.inline(items)
        self.words = words
        return text

    def list(self, title, identifiers, level=2):
        """A titled list of links with what each is for, without what has no page."""
        known = [identifier for identifier in identifiers if identifier in self.references]
        anchor = re.sub(r"[^a-z0-9]+", "-", title.lower()).strip("-")
        self.headings.append((level, anchor, title))
        items = "".join(self.item(identifier) for identifier in known)
        return f'<h{level} id="{anchor}"><a class="anchor" href="#{anchor}">{escape(title)}</a></h{level}><dl class="links">{items}</dl>'

    def body(self):
        parts = []
        for section in self.data.get("primaryContentSections", []):
            kind = section["kind"]
            if kind == "declarations":
                parts += [self.declaration(declaration["tokens"]) for declaration in section["declarations"]]
            elif kind == "content":
                parts.append(self.blocks(section["content"]))
            elif kind == "parameters":
                items = "".join(
                    f"<dt><code>{escape(parameter['name'])}</code></dt><dd>{self.blocks(parameter['content'])}</dd>" for parameter in section["parameters"]
                )
                parts.append(f'<h2 id="parameters">Parameters</h2><dl class="parameters">{items}</dl>')
            elif kind != "mentions":
                self.error(f"a section of an unknown kind: {kind}")
        if self.path != "index.html":
            for key in ("topicSections", "defaultImplementationsSections"):
                for section in self.data.get(key, []):
                    parts.append(self.list(section.get("title", "Topics"), self.members(section["identifiers"])))
        for section in self.data.get("relationshipsSections", []):
            links = ", ".join(self.link(identifier) for identifier in section["identifiers"])
            parts.append(f'<p class="relations"><b>{escape(section["title"])}</b> {links}</p>')
        for section in self.data.get("primaryContentSections", []):
            if section["kind"] == "mentions":
                links = ", ".join(self.link(identifier) for identifier in section["mentions"])
                parts.append(f'<p class="relations"><b>Explained in</b> {links}</p>')
        return "\n".join(parts)


class Site:
    def __init__(self, folder, archives):
        self.folder = pathlib.Path(folder)
        for archive in archives:
            for file in sorted(pathlib.Path(archive, "data/documentation").rglob("*.json")):
                page = Page(json.loads(file.read_text()))
                (generated if page.is_generated else pages)[page.url] = page
            images = pathlib.Path(archive, "images")
            if images.is_dir():
                shutil.copytree(images, self.folder / "images", dirs_exist_ok=True)
        for page in pages.values():
            is_type = page.metadata.get("symbolKind") in ("class", "struct", "enum", "protocol") and page.url.count("/") == PREFIX.count("/") + 1
            if is_type and page.module != "trellis":
                products[page.title] = page
        self.modules = [page for page in pages.values() if page.role == "collection" and page.metadata.get("symbolKind") == "module"]
        self.home = self.modules[0]
        self.sections, self.reference = [], []
        for module in self.modules:
            for section in module.data.get("topicSections", []):
                self.add(module, section)
        for page in pages.values():
            if page.is_article and page.group is None:
                page.error("the article is in no section")

    def add(self, module, section):
        members = [pages[url] for url in (module.references[name]["url"].lower() for name in section["identifiers"]) if url in pages]
        articles = [page for page in members if page.is_article]
        if section.get("generated") and module is self.home:
            for page in members:
                if page.metadata.get("symbolKind") != "extension":
                    page.error("the page is in no section")
        if articles and len(articles) < len(members):
            module.error(f"the group '{section['title']}' mixes articles and symbols")
        name = section.get("title", "Topics")
        title = name if module is self.home else f"{module.title}: {name}"
        if articles:
            # A product's articles stand in the framework's section of the same name.
            title = name
            known = next((others for _, other, others in self.sections if other == name), None)
            if known is not None:
                known += members
            else:
                self.sections.append((module, title, members))
        else:
            self.reference.append((module, title, members))
        for page in members:
            page.group = page.group or title

    def anchor(self, title):
        return re.sub(r"[^a-z0-9]+", "-", title.lower()).strip("-")

    def navigation(self, page):
        def entry(other, text=None):
            current = ' aria-current="page"' if other is page else ""
            return f'<li><a href="{page.root}{urllib.parse.quote(other.path)}"{current}>{escape(text or other.title)}</a></li>'

        parts = []
        for _, title, members in self.sections:
            parts.append(f"<h2>{escape(title)}</h2><ul>{''.join(entry(member) for member in members)}</ul>")
        parts.append(f'<h2><a href="{page.root}reference.html">Reference</a></h2><ul>')
        group = self.group(page)
        for module, title, members in self.reference:
            if module is self.home or module.url == "/documentation/" + page.module:
                inner = f"<ul>{''.join(entry(member) for member in members)}</ul>" if title == group else ""
                parts.append(f'<li><a href="{page.root}reference.html#{self.anchor(title)}">{escape(title)}</a>{inner}</li>')
        parts += ["</ul><h2>Products</h2><ul>"] + [entry(module) for module in self.modules if module is not self.home]
        return "".join(parts) + f'</ul><h2><a href="{page.root}pages.html">All pages</a></h2>'

    def group(self, page):
        url = page.url
        while url not in ("", "/documentation"):
            if url in pages and pages[url].group:
                return pages[url].group
            url = url.rpartition("/")[0]
        return None

    def breadcrumbs(self, page):
        if page.path == "index.html":
            return ""
        parts = [f'<a href="{page.root}index.html">Trellis</a>']
        group = self.group(page)
        if page.is_article:
            parts.append(escape(group or ""))
        else:
            parts.append(f'<a href="{page.root}reference.html#{self.anchor(group or "")}">{escape(group or "Reference")}</a>')
            url = page.url
            parents = []
            while (url := url.rpartition("/")[0]) != "/documentation":
                if url in pages and pages[url] is not self.home:
                    parents.append(f'<a href="{page.root}{urllib.parse.quote(pages[url].path)}">{escape(pages[url].title)}</a>')
            parts += reversed(parents)
        return f'<nav class="crumbs" aria-label="Breadcrumbs">{" <span>›</span> ".join(parts)}</nav>'

    def write(self, page, title, content, aside="", wide=False):
        name = title if title == "Trellis" else f"{title} – Trellis"
        root = page.root
        text = f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>{escape(name)}</title>
<link rel="icon" href="data:image/svg+xml,%3Csvg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 16 16'%3E%3Cpath d='M2 2l12 12M14 2L2 14M8 1v14M1 8h14' stroke='%232f7d4f' stroke-width='2'/%3E%3C/svg%3E">
<link rel="stylesheet" href="{root}site.css">
</head>
<body>
<a class="skip" href="#content">Skip to the content</a>
<input type="checkbox" id="menu" aria-label="Show the navigation">
<header><label for="menu" aria-hidden="true">☰</label><a class="brand" href="{root}index.html">Trellis</a>
<div class="search" hidden><input type="search" placeholder="Search (press /)" aria-label="Search" autocomplete="off"><ul></ul></div></header>
<div class="layout">
<nav class="side" aria-label="Pages">{self.navigation(page)}</nav>
<main id="content"{' class="wide"' if wide else ''}>{content}</main>
{aside}
</div>
<script src="{root}site.js" data-root="{root}" defer></script>
</body>
</html>
"""
        file = self.folder / page.path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)

    def render(self, page):
        abstract = page.quiet(page.data.get("abstract", []))
        body = page.body()
        if page.is_article and page.words > MAXIMUM_WORDS:
            page.error(f"{page.words} words, and {MAXIMUM_WORDS} are the most")
        kind = "" if page.is_article or page is self.home else f'<p class="kind">{escape(page.metadata.get("roleHeading", ""))}</p>'
        if page is self.home:
            body += "".join(self.cards(page))
        long = "" if page.is_article or len(page.title) < 32 else ' class="long"'
        content = f'{self.breadcrumbs(page)}{kind}<h1{long}>{breakable(escape(page.title))}</h1><p class="abstract">{abstract}</p>{body}'
        entries = [f'<li class="level{level}"><a href="#{anchor}">{heading(text)}</a></li>' for level, anchor, text in page.headings if level <= 3]
        aside = f'<nav class="toc" aria-label="On this page"><h2>On this page</h2><ul>{"".join(entries)}</ul></nav>' if len(entries) > 2 else ""
        self.write(page, page.title, content, aside, wide=not aside)

    def cards(self, page):
        for _, title, members in self.sections:
            items = "".join(
                f'<dt><a href="{urllib.parse.quote(member.path)}">{escape(member.title)}</a></dt>'
                f"<dd>{self.abstract(member, page)}</dd>"
                for member in members
            )
            yield f'<h2 id="{self.anchor(title)}"><a class="anchor" href="#{self.anchor(title)}">{escape(title)}</a></h2><dl class="cards">{items}</dl>'

    @staticmethod
    def abstract(member, page):
        """The abstract of an article as another page shows it, with the links that it has."""
        references, page.references = page.references, member.references | page.references
        text = page.quiet(member.data.get("abstract", []))
        page.references = references
        return text

    def plain(self, path, title, content):
        """A page that is in no archive."""
        page = Page.__new__(Page)
        page.path, page.root, page.url, page.module, page.is_article, page.group = path, "../" * path.count("/"), "", "trellis", True, None
        self.write(page, title, f"<h1>{escape(title)}</h1>{content}", wide=True)

    def run(self):
        for page in pages.values():
            self.render(page)
        parts = []
        for module, title, members in self.reference:
            parts.append(module.list(title, [member.data["identifier"]["url"] for member in members]))
        text = "".join(parts).replace(f'href="{"../"}', 'href="')
        self.plain("reference.html", "Reference", text)
        links = sorted((page.title.lower(), page.path, page.title) for page in pages.values())
        items = "".join(f'<li><a href="{urllib.parse.quote(path)}">{escape(title)}</a></li>' for _, path, title in links)
        self.plain("pages.html", "All pages", f'<ul class="pages">{items}</ul>')
        self.plain("404.html", "No such page", '<p>There is no page at this address. <a href="index.html">The start</a> and <a href="pages.html">all pages</a> are here.</p>')
        index = [
            [page.title, page.path, page.metadata.get("roleHeading", "Article"), page.url.count("/")]
            for page in sorted(pages.values(), key=lambda page: (not page.is_article, page.url.count("/"), page.title))
        ]
        (self.folder / "search.js").write_text("const pages = " + json.dumps(index, ensure_ascii=False, separators=(",", ":")) + ";\n")
        for name in ("site.css", "site.js"):
            shutil.copy(HERE / name, self.folder / name)


site = Site(sys.argv[1], sys.argv[2:])
site.run()
for error in errors:
    print(f"error: {error}", file=sys.stderr)
print(f"{len(pages)} pages, {len(errors)} errors")
sys.exit(1 if errors else 0)
