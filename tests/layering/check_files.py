"""Checks what every file of the repository promises: length, first comment, no traces of one machine, mirrored tests.

usage: check_files.py SOURCE_DIR
Prints the three largest source files; exit code 1 and one line a problem if a rule is broken.
"""
import pathlib
import re
import sys

SOURCES = {".cpp", ".hpp", ".h", ".c", ".def", ".cu", ".cuh", ".hip", ".S", ".in", ".py", ".sh", ".cmake"}
HEADERS = {".hpp", ".h", ".def", ".cuh"}
KERNELS = {".cu", ".cuh", ".hip"}
TEXT = SOURCES | {".md", ".txt", ".json", ".yml", ".map", ".supp", ""}
SKIPPED = {".git", "build", ".cache", "__pycache__"}

MAX_LINES = 400
MAX_KERNEL_LINES = 800  # those above MAX_LINES start with a table of contents
MAX_MAP_LINES = 120     # ARCHITECTURE.md

# Folders of one developer's machine and the hosts of package registries; split so that this file passes.
MACHINE = re.compile(r"(?<![\w.$}/])/(wo" r"rk|ro" r"ot|ho" r"me(?!/(me|u)\b)|Us" r"ers|m" r"nt)/[\w.]")
HOSTS = re.compile(r"\b(deb\.deb" r"ian\.org|archive\.ubu" r"ntu\.com|py" r"pi\.org|files\.python" r"hosted\.org)")

# Folders of tests/ that test no single folder of the tree, and folders that other folders' tests cover.
CROSS_CUTTING = {"abi", "golden", "property", "layering", "install", "fuzz", "mutants", "plugins", "data", "device",
                 "support", "cli", "conformance", "simt"}


def repository_files(root):
    for path in sorted(root.rglob("*")):
        if path.is_file() and not SKIPPED & set(path.relative_to(root).parts):
            yield path


def name_of(path):
    return path.as_posix()


def is_source(path):
    return path.suffix in SOURCES or path.name == "CMakeLists.txt" or path.as_posix() == ".ci/run"


def check_length(path, text):
    lines = text.count("\n")
    if path.as_posix() == "ARCHITECTURE.md":
        limit = MAX_MAP_LINES
    elif not is_source(path):
        return []
    else:
        limit = MAX_KERNEL_LINES if path.suffix in KERNELS else MAX_LINES
    problems = [f"{path}: {lines} lines, at most {limit}"] if lines > limit else []
    if path.suffix in KERNELS and lines > MAX_LINES and "Contents" not in text[:2000]:
        problems.append(f"{path}: a kernel file above {MAX_LINES} lines starts with a table of contents")
    return problems


def check_first_comment(path, text):
    if path.suffix in HEADERS and not text.lstrip().startswith(("//", "/*")):
        return [f"{path}: the first comment of a header says why it exists"]
    return []


def check_traces(path, text):
    problems = []
    for number, line in enumerate(text.splitlines(), 1):
        for pattern, what in ((MACHINE, "a path of one machine"), (HOSTS, "a package host")):
            if pattern.search(line):
                problems.append(f"{path}:{number}: {what}: {line.strip()[:80]}")
        if re.search(r"\b(TO" r"DO|FIX" r"ME)\b", line) and is_source(path):
            problems.append(f"{path}:{number}: unfinished work belongs in the tracker")
    return problems


def check_mirror(paths):
    """Every folder with tests mirrors a folder of the tree, and every layer of core/ has tests."""
    problems = []
    folders = {folder.as_posix() for path in paths for folder in path.parents}
    tested = {path.relative_to("tests").parts[0] for path in paths
              if path.parts[0] == "tests" and path.stem.endswith("_test") and len(path.parts) > 2}
    # device_layer tests core/device without a device; plugins_cpu tests plugins/cpu, plugins_hip plugins/common/hip.
    mirrored = {name: name.removesuffix("_layer").replace("plugins_", "") for name in tested}
    for name, original in sorted(mirrored.items()):
        places = {f"core/{original}", f"tools/{original}", f"plugins/{original}", f"plugins/common/{original}", original}
        if name not in CROSS_CUTTING and not places & folders:
            problems.append(f"tests/{name}: no folder {original}/ in core/, tools/, plugins/ or at the top")
    covered = set(mirrored.values()) | {"solver"}  # by tests/property and tests/golden
    for folder in sorted(folders):
        parts = folder.split("/")
        has_code = any(path.parent.as_posix() == folder and path.suffix == ".cpp" for path in paths)
        if len(parts) == 2 and parts[0] == "core" and has_code and parts[1] not in covered:
            problems.append(f"core/{parts[1]}: no tests in tests/{parts[1]}/")
    return problems


def check_tree(root):
    paths, sizes, problems = [], [], []
    for file in repository_files(root):
        path = file.relative_to(root)
        paths.append(path)
        if path.suffix not in TEXT and path.name != "CMakeLists.txt":
            continue
        try:
            text = file.read_text(encoding="utf-8")
        except UnicodeDecodeError:
            continue
        problems += check_length(path, text) + check_first_comment(path, text) + check_traces(path, text)
        if is_source(path):
            sizes.append((text.count("\n"), path.as_posix()))
    return problems + check_mirror(paths), sorted(sizes, reverse=True)


def main():
    problems, sizes = check_tree(pathlib.Path(sys.argv[1]).resolve())
    print("largest files: " + ", ".join(f"{name} ({lines})" for lines, name in sizes[:3]))
    print("\n".join(problems) or f"{len(sizes)} source files keep the rules")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
