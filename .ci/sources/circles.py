"""Files that import each other: strongly connected components of the graph of imports."""


def circles(edges):
    """Each circle as a sorted list of its files."""
    files = set(edges) | {target for targets in edges.values() for target in targets}
    forwards = order_of_leaving(files, edges)
    backwards = {}
    for file, targets in edges.items():
        for target in targets:
            backwards.setdefault(target, set()).add(file)
    found, seen = [], set()
    for file in reversed(forwards):
        circle = reached(file, backwards, seen)
        if len(circle) > 1:
            found.append(sorted(circle))
    return sorted(found)


def joined(*graphs):
    """Several graphs as one."""
    edges = {}
    for graph in graphs:
        for file, targets in graph.items():
            for target, names in targets.items():
                edges.setdefault(file, {}).setdefault(target, set()).update(names)
    return edges


def order_of_leaving(files, edges):
    order, seen = [], set()
    for start in sorted(files):
        if start in seen:
            continue
        seen.add(start)
        open_files = [(start, iter(sorted(edges.get(start, ()))))]
        while open_files:
            file, targets = open_files[-1]
            following = next((target for target in targets if target not in seen), None)
            if following is None:
                order.append(file)
                open_files.pop()
            else:
                seen.add(following)
                open_files.append((following, iter(sorted(edges.get(following, ())))))
    return order


def reached(start, edges, seen):
    """Files reached from `start` that are not in `seen`, to which they are added."""
    if start in seen:
        return []
    seen.add(start)
    open_files, found = [start], [start]
    while open_files:
        for target in edges.get(open_files.pop(), ()):
            if target not in seen:
                seen.add(target)
                found.append(target)
                open_files.append(target)
    return found


def described(circle, edges):
    """Lines that say which names tie a circle together."""
    lines = [f"circle of {len(circle)} files"]
    for file in circle:
        for target in sorted(set(edges.get(file, ())) & set(circle)):
            lines.append(f"  {file} -> {target}: {', '.join(sorted(edges[file][target]))}")
    return lines
