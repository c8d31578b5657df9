"""Which Rust file takes a name from which other file of its crate."""

import posixpath
import re

TOKEN = re.compile(r"[A-Za-z_]\w*|::|->|=>|\d[\w.]*|\S")
WORD = re.compile(r"[A-Za-z_]\w*$")
DEFINES = {"fn", "struct", "enum", "union", "trait", "type", "const", "static"}
# What may come between `const` and the word that says what is defined.
QUALIFIERS = {"unsafe", "async", "extern", "const"}
TEST_ATTRIBUTE = re.compile(r"#\s*\[\s*cfg\s*\(\s*(?:all\s*\(\s*)?test\b[^\]]*\]")
MODULE_OF_FILE = re.compile(r"\bmod\s+(\w+)\s*;")
PATH_ATTRIBUTE = re.compile(r'#\[path\s*=\s*"([^"]+)"\]\s*(?:pub(?:\([^)]*\))?\s+)?mod\s+(\w+)')
# Items end at `;` or at their closing brace, anything else (a field, an arm, a variant) also at a comma.
ITEM_WORDS = {"pub", "fn", "mod", "impl", "struct", "enum", "trait", "const", "static", "type", "use", "async", "unsafe",
              "extern", "let", "macro_rules"}


class Module:
    def __init__(self, file, parent=None):
        self.file = file
        self.parent = parent
        self.root = parent.root if parent else self
        self.children = {}
        self.defined = set()
        self.used = {}
        self.globs = []
        self.paths = []
        self.words = set()


def end_of_item(code, start):
    """Where the item that begins at `start`, attributes before it included, ends."""
    at = start
    while attribute := re.compile(r"\s*#\s*\[").match(code, at):
        at = end_of_group(code, attribute.end() - 1)
    first = re.compile(r"\s*(\w*)").match(code, at)
    is_item, is_use = first[1] in ITEM_WORDS, bool(re.compile(r"\s*(pub\s*(\([^)]*\)\s*)?)?use\b").match(code, at))
    while at < len(code):
        letter = code[at]
        if letter in "([":
            at = end_of_group(code, at)
            continue
        if letter == "{":
            at = end_of_group(code, at)
            if is_use or re.compile(r"\s*[;,.?]").match(code, at):
                continue
            return at
        if letter == ";" or (letter == "," and not is_item):
            return at + 1
        if letter in ")]}":
            return at
        at += 1
    return at


def end_of_group(code, start):
    depth = 0
    for found in re.compile(r"[()\[\]{}]").finditer(code, start):
        depth += 1 if found[0] in "([{" else -1
        if depth == 0:
            return found.end()
    return len(code)


def test_ranges(code):
    """Ranges of the items that only tests are compiled with."""
    ranges, at = [], 0
    while found := TEST_ATTRIBUTE.search(code, at):
        at = end_of_item(code, found.start())
        ranges.append((found.start(), at))
    return ranges


def without_tests(code):
    """The code without what tests alone see of this file. Files of tests stay declared: they import each other as all do."""
    for start, end in test_ranges(code):
        if not MODULE_OF_FILE.search(code, start, end):
            code = code[:start] + re.sub(r"[^\n]", " ", code[start:end]) + code[end:]
    return code


def test_modules(text):
    """Names of the files' modules that are declared for tests only: `#[cfg(test)] mod tests;`."""
    names = set()
    for start, end in test_ranges(text.code):
        names.update(MODULE_OF_FILE.findall(text.code, start, end))
    return names


def child_file(sources, path, name, is_root, renamed):
    folder = posixpath.dirname(path)
    if name in renamed:
        candidates = [posixpath.normpath(posixpath.join(folder, renamed[name]))]
    else:
        stem = posixpath.splitext(posixpath.basename(path))[0]
        below = folder if is_root or stem == "mod" else posixpath.join(folder, stem)
        candidates = [f"{below}/{name}.rs", f"{below}/{name}/mod.rs"]
    return next((candidate for candidate in candidates if candidate in sources), None)


def roots(sources):
    """Files that a crate begins with: libraries, programs, integration tests, examples, benches, fuzz targets."""
    pattern = re.compile(r"(^|/)(src/(lib|main)|build|src/bin/[^/]+|(tests|examples|benches|fuzz_targets)/([^/]+|[^/]+/main))\.rs$")
    return [path for path in sources if pattern.search(path)]


def read_module(sources, module, is_root, seen, code_of):
    """Reads a file into `module`, and the files that it declares. `code_of` answers what of a file is read."""
    text = sources[module.file]
    seen.append(module)
    renamed = {name: path for path, name in PATH_ATTRIBUTE.findall(text.raw)}
    tokens = TOKEN.findall(code_of(text.code))
    inline = [(module, 0)]
    depth, at = 0, 0
    while at < len(tokens):
        token, here = tokens[at], inline[-1][0]
        at_top = depth == inline[-1][1]
        if token in "{}":
            depth += 1 if token == "{" else -1
            while depth < inline[-1][1]:
                inline.pop()
        elif token == "mod" and WORD.match(tokens[at + 1]) and tokens[at + 2] in "{;":
            name = tokens[at + 1]
            if tokens[at + 2] == "{":
                child = here.children[name] = Module(module.file, here)
                seen.append(child)
                depth += 1
                inline.append((child, depth))
            elif file := child_file(sources, module.file, name, is_root, renamed):
                child = here.children[name] = Module(file, here)
                read_module(sources, child, False, seen, code_of)
            at += 3
            continue
        elif token == "use" and (at == 0 or tokens[at - 1] not in ("<", "+", ",")):
            at = read_use(tokens, at + 1, [], here)
            continue
        elif token in DEFINES and at_top and WORD.match(tokens[at + 1]) and tokens[at + 1] not in DEFINES | QUALIFIERS:
            here.defined.add(tokens[at + 1])
        elif token == "macro_rules":
            here.defined.add(tokens[at + 2])
            here.root.defined_macros[tokens[at + 2]] = module.file
        elif WORD.match(token) and (at == 0 or tokens[at - 1] not in (".", "::")):
            at = read_path(tokens, at, here)
            continue
        at += 1


def read_path(tokens, at, module):
    segments = [tokens[at]]
    module.words.add(tokens[at])
    at += 1
    while at + 1 < len(tokens) and tokens[at] == "::" and WORD.match(tokens[at + 1]):
        segments.append(tokens[at + 1])
        at += 2
    if len(segments) > 1:
        module.paths.append(segments)
    return at


def read_use(tokens, at, before, module):
    """Reads a tree of imports up to its `;`, `,` or `}`, and gives the place after it."""
    path = list(before)
    while True:
        token = tokens[at]
        if token == "::":
            at += 1
        elif token == "{":
            at += 1
            while tokens[at] != "}":
                at = read_use(tokens, at, path, module)
                at += tokens[at] == ","
            return at + 1
        elif token == "*":
            module.globs.append(path)
            return at + 1
        else:
            path.append(token)
            at += 1
            if tokens[at] == "as":
                add_use(module, tokens[at + 1], path)
                return at + 2
            if tokens[at] != "::":
                name = path[-2] if path[-1] == "self" and len(path) > 1 else path[-1]
                add_use(module, name, path[:-1] if path[-1] == "self" and len(path) > 1 else path)
                return at


def add_use(module, name, path):
    # Two uses of one name (a type and a macro, or in two functions) both count.
    module.used.setdefault(name, [])
    if path not in module.used[name]:
        module.used[name].append(path)


def look_up(module, name, busy, is_last=True):
    """What `name` is in `module`: a Module, a pair (file, name), or None for what is outside of the crate.

    A function may have the name of a module, which is meant where the path goes on.
    """
    if not is_last and name in module.children:
        return module.children[name]
    if (id(module), name) in busy:
        return None
    busy = busy | {(id(module), name)}
    if name in module.defined:
        return (module.file, name)
    if name in module.children:
        return module.children[name]
    for path in module.used.get(name, []):
        if found := resolve(module, path, busy):
            return found
    for path in module.globs:
        target = resolve(module, path, busy)
        if isinstance(target, Module) and (found := look_up(target, name, busy)):
            return found
    if module is module.root and name in module.defined_macros:
        return (module.defined_macros[name], name)
    return None


def resolve(module, path, busy=frozenset()):
    """What a path means in `module`; names that a macro defines belong to the file of their module."""
    return list(steps(module, path, busy))[-1][2]


def steps(module, path, busy=frozenset()):
    """(module, name, what it is there) for each part of a path, up to the item that it means."""
    here, at = module, 0
    while at < len(path) and path[at] in ("crate", "self", "super"):
        here = here.root if path[at] == "crate" else here.parent if path[at] == "super" else here
        at += 1
        if here is None:
            break
    yield module, None, here if at == len(path) else None
    for number, name in enumerate(path[at:], start=at + 1):
        if not isinstance(here, Module):
            return
        found = look_up(here, name, busy, number == len(path))
        if found is None and number > at + 1:
            found = (here.file, name)
        yield here, name, found
        here = found


def is_own(module, name):
    """Whether `module` has a name itself, and not from an import of its own."""
    return name in module.defined or name in module.children or (module is module.root and name in module.defined_macros)


def files_named(module, path, busy=frozenset()):
    """Files through which a path goes by what they import or export again: they are depended on like the one that defines."""
    return [here.file for here, name, found in steps(module, path, busy) if name and found and not is_own(here, name)]


def modules_of(sources, root, code_of):
    """The modules of a crate."""
    modules = []
    top = Module(root)
    top.defined_macros = {}
    read_module(sources, top, True, modules, code_of)
    return modules


def whole(code):
    return code


def imports(sources):
    """{file: {file: names}} twice: of the files that define what is taken, and of those that are named on the way there.

    Declarations of modules are no imports. What the tests inside of a file take is taken by the file; what they name on the
    way there is not counted, because tests see a crate as those outside of it do.
    """
    defining, naming = {}, {}
    for root in roots(sources):
        for module in modules_of(sources, root, whole):
            for _, target, _ in taken(module):
                if isinstance(target, tuple):
                    add_edge(defining, module.file, target[0], target[1])
        for module in modules_of(sources, root, without_tests):
            for name, target, named in taken(module):
                if isinstance(target, tuple):
                    add_edge(defining, module.file, target[0], target[1])
                elif target and name in module.used:
                    # Who imports a module sees all of its file, also where only a child of it is used.
                    add_edge(naming, module.file, target.file, name)
                for file in named:
                    add_edge(naming, module.file, file, name)
    return defining, naming


CRATE = re.compile(r"^(?:.*/)?(?:src|tests|benches|examples)/")
DEFINED_FUNCTION = re.compile(r"\bfn\s+(\w+)")
OWN_METHOD = re.compile(r"\bself\s*\.\s*(\w+)\s*(?:::\s*<[^()]*>\s*)?\(")


def calls(sources):
    """{file: {file: names}} of methods that a file calls on `self` and that exactly one other file of its crate defines.

    No import shows such a call: the type is shared, and the method is an implementation in another file.
    """
    without, defining = {}, {}
    for path, text in sources.items():
        crate = CRATE.match(path) if path.endswith(".rs") else None
        if crate:
            without[path] = (crate[0], without_tests(text.code))
            for name in DEFINED_FUNCTION.findall(without[path][1]):
                defining.setdefault((crate[0], name), set()).add(path)
    edges = {}
    for path, (crate, code) in without.items():
        for name in OWN_METHOD.findall(code):
            files = defining.get((crate, name), ())
            if len(files) == 1:
                add_edge(edges, path, *files, name)
    return edges


def add_edge(edges, file, target, name):
    if file != target:
        edges.setdefault(file, {}).setdefault(target, set()).add(name)


def taken(module):
    """(name, what it is, files named on the way) of each name that a module takes."""
    for path in (path for paths in module.used.values() for path in paths):
        busy = frozenset({(id(module), path[-1])}) if len(path) == 1 else frozenset()
        yield path[-1], resolve(module, path, busy), files_named(module, path, busy)
    for path in module.paths:
        yield path[-1], resolve(module, path), files_named(module, path)
    if module.globs:
        for word in module.words - module.defined - set(module.children) - set(module.used):
            target = look_up(module, word, frozenset())
            yield word, target, files_of_globs(module, word, target)


def files_of_globs(module, word, target):
    """Files out of which a glob of `module` takes a word that they have only imported or export again."""
    taken_from = [resolve(module, path) for path in module.globs]
    return [one.file for one in taken_from
            if target and isinstance(one, Module) and not is_own(one, word) and look_up(one, word, frozenset()) == target]
