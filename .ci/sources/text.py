"""Source text without its comments and strings, and what each line holds."""

import os
import re

SKIPPED_FOLDERS = {"target", "node_modules", "dist", "OUT_DIR"}

RUST_PIECES = re.compile(
    r'(?P<line>//[^\n]*)|(?P<block>/\*)|(?P<raw>\bb?r(?P<hashes>\#*)".*?"(?P=hashes))'
    r"|(?P<string>\bb?\"(?:\\.|[^\"\\])*\"|\"(?:\\.|[^\"\\])*\")"
    r"|(?P<char>b?'(?:\\(?:u\{[^}]*\}|x..|.)|[^'\\\n])')",
    re.S,
)
# A regular expression may hold quotes and slashes: it is looked for where a value may begin.
TYPESCRIPT_PIECES = re.compile(
    r"(?P<line>//[^\n]*)|(?P<block>/\*.*?\*/)|(?P<string>\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])*')"
    r"|(?P<raw>`(?:\\.|[^`\\])*`)|(?P<char>(?<=[(,=:\[!&|?;{}])\s*/(?![*/])(?:\\.|\[(?:\\.|[^\]\\\n])*\]|[^/\\\n])+/)",
    re.S,
)
# Attributes name functions in strings (`#[serde(with = "crate::times")]`): such a path stays.
PATH_IN_STRING = re.compile(r'"((?:crate|super|self)(?:::\w+)+)"')


class Text:
    """One file. `code` has the length and lines of the file, with blanks for comments and for what strings hold."""

    def __init__(self, path, text):
        self.path = path
        self.raw = text
        self.comment_lines = set()
        self.code = blanked(text, path.endswith(".rs"), self.comment_lines)
        self.lines = self.code.split("\n")

    def code_lines(self):
        """Numbers of the lines that hold code, from 0."""
        return {number for number, line in enumerate(self.lines) if line.strip()}


def blanked(text, rust, comment_lines):
    """Blanks what is no code; adds the lines of comments that are no documentation to `comment_lines`."""
    pieces = RUST_PIECES if rust else TYPESCRIPT_PIECES
    parts, at = [], 0
    while found := pieces.search(text, at):
        start, end, kind = found.start(), found.end(), found.lastgroup
        if kind == "block" and rust:
            end = end_of_nested(text, start)
        kind = "raw" if kind == "hashes" else kind
        piece = text[start:end]
        parts.append(text[at:start])
        if kind in ("line", "block"):
            if not is_documentation(piece, rust):
                first = text.count("\n", 0, start)
                comment_lines.update(range(first, first + piece.count("\n") + 1))
            parts.append(blank(piece))
        else:
            path = PATH_IN_STRING.fullmatch(piece)
            parts.append(f" {path[1]} " if path and rust else kept_quotes(piece, kind))
        at = end
    return "".join([*parts, text[at:]])


def end_of_nested(text, start):
    depth, at = 0, start
    for found in re.finditer(r"/\*|\*/", text[start:]):
        depth += 1 if found[0] == "/*" else -1
        at = start + found.end()
        if depth == 0:
            return at
    return len(text)


def is_documentation(piece, rust):
    if rust and re.match(r"///(?!/)|//!", piece):
        return True
    return bool(re.match(r"/\*\*(?![*/])|/\*!", piece))


def blank(piece):
    return re.sub(r"[^\n]", " ", piece)


def kept_quotes(piece, kind):
    # The quotes stay, so that a line which only holds text counts as a line of code.
    if kind == "char" or len(piece) < 2:
        return re.sub(r"[^\n]", "0", piece)
    return '"' + re.sub(r"[^\n]", " ", piece[1:-1]) + '"'


def sources(root):
    """Every Rust and TypeScript file under `root`: path from there with `/` -> Text."""
    found = {}
    for folder, folders, names in os.walk(root):
        folders[:] = sorted(f for f in folders if f not in SKIPPED_FOLDERS and not f.startswith("."))
        for name in sorted(names):
            if name.endswith((".rs", ".ts", ".tsx")) and not name.endswith(".d.ts"):
                path = os.path.relpath(os.path.join(folder, name), root).replace(os.sep, "/")
                with open(os.path.join(root, path), encoding="utf-8") as file:
                    found[path] = Text(path, file.read())
    return found
