"""Which TypeScript file takes something from which other."""

import posixpath
import re

FROM = re.compile(r"""\b(?:import|export)\b(?P<names>[^;"'`()]*?)\bfrom\s*["'](?P<path>\.[^"']*)["']""")
BARE = re.compile(r"""\bimport\s*\(?\s*["'](?P<path>\.[^"']*)["']""")
NAME = re.compile(r"(?:\btype\s+)?([A-Za-z_$][\w$]*)(?:\s+as\s+[\w$]+)?")


def file_of(sources, path, target):
    """The file that a relative import means, with or without an ending, or a folder's index."""
    base = posixpath.normpath(posixpath.join(posixpath.dirname(path), target))
    stem = re.sub(r"\.(js|jsx|ts|tsx)$", "", base)
    candidates = [base, f"{stem}.ts", f"{stem}.tsx", f"{base}.ts", f"{base}/index.ts", f"{base}/index.tsx"]
    return next((candidate for candidate in candidates if candidate in sources), None)


def statements(text):
    """Imports of a file: (path, names). Strings are read from the file itself, and comments not at all."""
    for pattern in (FROM, BARE):
        for found in pattern.finditer(text.raw):
            if text.code[found.start()] != " ":
                names = found.groupdict().get("names") or ""
                words = [word for word in NAME.findall(names) if word not in ("type", "as")]
                yield found["path"], words or ["*"]


def imports(sources):
    """{file: {file: names}}; types and what is exported again count, as do imports at run time."""
    edges = {}
    for path, text in sources.items():
        if not path.endswith((".ts", ".tsx")):
            continue
        for target, names in statements(text):
            file = file_of(sources, path, target)
            if file and file != path:
                edges.setdefault(path, {}).setdefault(file, set()).update(names)
    return edges
