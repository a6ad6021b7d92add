"""Checks the layers of core/ on the link graph, on the symbols of object files and on #include lines.

usage: check_layers.py SOURCE_DIR LINK_GRAPH.tsv NM
Exit code 1 and one line a problem if a rule is broken. What each rule is for: ARCHITECTURE.md, Layers.
"""
import collections
import pathlib
import re
import subprocess
import sys

# What a layer may link, beside libraries that are not ours. A layer that is not here may link any layer.
MAY_LINK = {
    "diag": set(),
    "manifest": {"diag"},
    "solver": {"manifest", "diag"},
    "kvcache": set(),
    "indexer": {"kvcache"},
    "device": {"solver", "manifest", "diag"},
    "catalog": {"solver", "manifest", "diag", "named_catalogs"},
    "loader": {"abi", "catalog", "device", "solver", "manifest", "diag"},
}

# Functions of the C library that pure layers may call; the JSON library's number formatting needs the last line.
PURE_C = set("""memchr memcmp memcpy memmove memset strcmp strlen abort
    __errno_location __libc_single_threaded __popcountdi2 __stack_chk_fail _GLOBAL_OFFSET_TABLE_ __dso_handle
    localeconv snprintf strtod strtoll strtoull""".split())
PURE_NAMESPACES = re.compile(r"^(std::|fmt::|nlohmann::|operator (new|delete)|__cxa_|__gxx_|__cxxabiv1::|_Unwind_|"
                             r"(typeinfo|typeinfo name|vtable|guard variable|VTT) for )")

ENVIRONMENT = {"getenv", "secure_getenv", "environ", "__environ", "_environ", "getauxval"}
DLOPEN = {"dlopen", "dlmopen"}
ENVIRONMENT_OWNER = "core/host/environment.cpp.o"
DRIVER_OPENERS = ("core/device/",)  # GPU drivers, never plugins
PLUGIN_OPENERS = ("core/loader/",)
RUNTIME_OPENERS = ("plugins/common/hip/",)  # the HIP runtime, from inside a plugin; CUDA's is linked statically
# CLI11's headers read variables for options that ask for it; ours do not (checked below).
USES_CLI11 = ("tools/", "cmake/manifest_tool/")

Target = collections.namedtuple("Target", "name type folder libraries objects")


def read_graph(text):
    targets = {}
    for line in text.splitlines():
        name, kind, folder, libraries, objects = line.split("\t")
        split = lambda field: [part for part in field.split("|") if part]
        targets[name] = Target(name, kind, folder, split(libraries), split(objects))
    return targets


def layer_of(name):
    return name[len("dsakit_"):] if name.startswith("dsakit_") else None


def check_links(targets):
    """Layers link what MAY_LINK says; core links no plugin, tool or test; no cycle."""
    problems = []
    core = {name for name, target in targets.items() if target.folder == "core"}
    for name in sorted(core):
        target = targets[name]
        for library in target.libraries:
            library = library.removeprefix("dsakit::") if library.startswith("dsakit::dsakit_") else library
            if library in targets and library not in core and library != "dsakit_flags":
                problems.append(f"{name} links {library}, which is outside core/")
            allowed = MAY_LINK.get(layer_of(name))
            if allowed is not None and library in core and layer_of(library) not in allowed:
                problems.append(f"{name} links {library}; it may link {', '.join(sorted(allowed)) or 'no layer'}")
    for name in sorted(core):
        if name in closure(targets, name):
            problems.append(f"{name} links itself through other libraries")
    return problems


def closure(targets, name):
    seen, todo = set(), [name]
    while todo:
        for library in targets[todo.pop()].libraries:
            if library in targets and library not in seen:
                seen.add(library)
                todo.append(library)
    return seen


def check_includes(targets, sources):
    """A layer includes headers of itself and of what it links. `sources`: path below core/ -> text."""
    layers = {layer_of(name) for name, target in targets.items() if target.folder == "core"}
    problems = []
    for path, text in sorted(sources.items()):
        layer = path.split("/")[0]
        if f"dsakit_{layer}" not in targets:
            continue
        known = {layer, "dsakit"} | {layer_of(library) for library in closure(targets, f"dsakit_{layer}")}
        if "named_catalogs" in known:
            known.add("catalog")
        for included in re.findall(r'^#include "(\w+)/', text, re.M):
            if included in layers and included not in known:
                problems.append(f"core/{path} includes {included}/, which {layer} does not link")
    return problems


def check_pure(layer, symbols_of, targets):
    """Objects of a pure layer reference only its own code, what it may link, and pure library functions."""
    defined = set()
    for name in {f"dsakit_{layer}"} | {f"dsakit_{other}" for other in MAY_LINK[layer]}:
        for path in targets[name].objects:
            defined |= symbols_of(path)[0]
    problems = []
    for path in targets[f"dsakit_{layer}"].objects:
        for symbol in sorted(symbols_of(path)[1]):
            if symbol in defined or symbol in PURE_C or PURE_NAMESPACES.match(symbol):
                continue
            problems.append(f"{short('core', path)} references {symbol}, which is not in {layer}/ or a layer it may use")
    return problems


def short(folder, path):
    """core, …/CMakeFiles/dsakit_host.dir/./host/environment.cpp.o -> core/host/environment.cpp.o"""
    return folder + "/" + re.sub(r"^.*\.dir/(\./)?", "", path)


def check_owners(objects):
    """One object reads the environment; only the loader opens plugins. `objects`: short path -> undefined symbols."""
    problems, readers = [], []
    for path, undefined in sorted(objects.items()):
        if undefined & ENVIRONMENT and not path.startswith(USES_CLI11):
            readers.append(path)
        if undefined & DLOPEN and not path.startswith(DRIVER_OPENERS + PLUGIN_OPENERS + RUNTIME_OPENERS):
            problems.append(f"{path} references dlopen; only core/loader/ opens plugins, core/device/ drivers, and "
                            "plugins/common/hip/ the HIP runtime")
    if readers != [ENVIRONMENT_OWNER]:
        problems.append(f"the environment is read by {', '.join(readers) or 'no object'}; "
                        f"it must be {ENVIRONMENT_OWNER} alone")
    return problems


def check_cli11(sources):
    """`sources`: path -> text of the files that use CLI11."""
    return [f"{path} reads the environment; core/host/environment.cpp is the place"
            for path, text in sorted(sources.items()) if re.search(r"\benvname\s*\(|\bgetenv\b|\benviron\b", text)]


def symbols_reader(nm):
    cache = {}

    def symbols_of(path):
        if path not in cache:
            run = subprocess.run([nm, "-C", path], check=True, capture_output=True, text=True)
            defined, undefined = set(), set()
            for line in run.stdout.splitlines():
                match = re.match(r"^[0-9a-f ]{16} (\w) (.*)$", line)
                if match:
                    name = re.sub(r"@.*$|\[abi:\w+\]", "", match[2])
                    (undefined if match[1] in "Uw" else defined).add(name)
            cache[path] = (defined, undefined)
        return cache[path]

    return symbols_of


def read_sources(root, folder):
    return {str(path.relative_to(root)): path.read_text(encoding="utf-8")
            for path in (root / folder).rglob("*") if path.suffix in {".cpp", ".hpp", ".h", ".def"}}


def main():
    root, graph, nm = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]), sys.argv[3]
    targets = read_graph(graph.read_text())
    symbols_of = symbols_reader(nm)
    problems = check_links(targets)
    problems += check_includes(targets, read_sources(root / "core", "."))
    problems += check_pure("solver", symbols_of, targets)
    objects = {}
    for target in targets.values():
        if target.folder.split("/")[0] in {"core", "plugins", "tools", "cmake", "sdk"}:
            for path in target.objects:
                if pathlib.Path(path).exists():
                    objects[short(target.folder, path)] = symbols_of(path)[1]
    problems += check_owners(objects)
    for folder in USES_CLI11:
        problems += check_cli11(read_sources(root, folder))
    print("\n".join(problems) or f"{len(targets)} targets and {len(objects)} objects keep the layering")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
