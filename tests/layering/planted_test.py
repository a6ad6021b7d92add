"""Plants one breach of each rule of check_layers.py and check_files.py and expects it to be named."""
import pathlib
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import check_files  # noqa: E402
import check_layers  # noqa: E402


def target(name, folder="core", libraries=(), objects=()):
    return check_layers.Target(name, "STATIC_LIBRARY", folder, list(libraries), list(objects))


def graph(*targets):
    return {entry.name: entry for entry in targets}


LAYERS = graph(target("dsakit_diag"), target("dsakit_manifest", libraries=["dsakit_diag"]),
               target("dsakit_solver", libraries=["dsakit_manifest", "fmt::fmt"], objects=["solver.o"]),
               target("dsakit_catalog", libraries=["dsakit_solver"]))


class Layers(unittest.TestCase):
    def test_the_real_shape_passes(self):
        self.assertEqual(check_layers.check_links(LAYERS), [])

    def test_reads_the_table_that_cmake_writes(self):
        read = check_layers.read_graph("a\tSTATIC_LIBRARY\tcore\tb|c\tx.o|y.o\nb\tINTERFACE_LIBRARY\tcore\t\t\n")
        self.assertEqual(read["a"].libraries, ["b", "c"])
        self.assertEqual(read["a"].objects, ["x.o", "y.o"])
        self.assertEqual(read["b"].objects, [])

    def test_link_upwards(self):
        planted = LAYERS | graph(target("dsakit_solver", libraries=["dsakit_catalog"]))
        self.assertTrue(any("links dsakit_catalog" in line for line in check_layers.check_links(planted)))
        self.assertTrue(any("links itself" in line for line in check_layers.check_links(planted)))

    def test_core_links_a_plugin(self):
        planted = LAYERS | graph(target("dsakit_catalog", libraries=["cpu_kernels"]), target("cpu_kernels", "plugins"))
        self.assertTrue(any("outside core/" in line for line in check_layers.check_links(planted)))

    def test_include_of_a_layer_that_is_not_linked(self):
        includes = {"solver/a.cpp": '#include "catalog/catalog.hpp"\n', "catalog/b.cpp": '#include "diag/render.hpp"\n'}
        problems = check_layers.check_includes(LAYERS, includes)
        self.assertEqual(len(problems), 1)
        self.assertIn("core/solver/a.cpp includes catalog/", problems[0])

    def test_impure_symbol(self):
        for symbol in ("open", "getenv", "dsakit::read_plugin_dir()", "clock_gettime", "setlocale"):
            problems = check_layers.check_pure("solver", lambda path: (set(), {symbol, "memcpy", "std::foo()"}), LAYERS)
            self.assertEqual(len(problems), 1, symbol)
            self.assertIn(symbol, problems[0])

    def test_second_reader_of_the_environment(self):
        objects = {"core/host/environment.cpp.o": {"environ"}, "core/device/detect.cpp.o": {"getenv"}}
        self.assertEqual(len(check_layers.check_owners(objects)), 1)
        del objects["core/device/detect.cpp.o"]
        self.assertEqual(check_layers.check_owners(objects), [])

    def test_second_opener_of_plugins(self):
        objects = {"core/host/environment.cpp.o": {"environ"}, "core/device/driver_library.cpp.o": {"dlopen"}}
        self.assertEqual(check_layers.check_owners(objects), [])
        objects["plugins/common/hip/runtime.cpp.o"] = {"dlopen"}
        self.assertEqual(check_layers.check_owners(objects), [])
        for path in ("core/catalog/search.cpp.o", "plugins/tilelang/plugin.cpp.o"):
            self.assertEqual(len(check_layers.check_owners(objects | {path: {"dlopen"}})), 1)

    def test_environment_through_the_option_parser(self):
        self.assertEqual(len(check_layers.check_cli11({"tools/dsakit/x.cpp": 'option->envname("DSAKIT_X")'})), 1)

    def test_names_of_objects(self):
        self.assertEqual(check_layers.short("core", "b/core/CMakeFiles/dsakit_host.dir/./host/e.cpp.o"),
                         "core/host/e.cpp.o")


class Files(unittest.TestCase):
    def problems_of(self, files):
        with tempfile.TemporaryDirectory() as folder:
            for name, text in files.items():
                path = pathlib.Path(folder, name)
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text)
            return check_files.check_tree(pathlib.Path(folder))[0]

    def expect(self, files, text):
        self.assertTrue(any(text in line for line in self.problems_of(files)), (files.keys(), text))

    def test_a_good_tree_passes(self):
        self.assertEqual(self.problems_of({"core/solver/a.hpp": "// Why.\n", "core/solver/a.cpp": "int a;\n",
                                           "tests/solver/a_test.cpp": "int b;\n", "build/junk.cpp": "\n" * 999}), [])

    def test_long_file(self):
        self.expect({"core/x.cpp": "\n" * 401}, "401 lines")
        self.expect({"ARCHITECTURE.md": "\n" * 121}, "121 lines")

    def test_kernel_without_contents(self):
        self.expect({"plugins/a/sm90.cu": "\n" * 500}, "table of contents")
        self.expect({"plugins/a/sm90.cu": "// Contents\n" + "\n" * 800}, "801 lines")

    def test_header_without_comment(self):
        self.expect({"core/x.hpp": "#pragma once\n"}, "first comment")

    def test_traces_of_a_machine(self):
        self.expect({"README.md": "see /ro" + "ot/data/x\n"}, "README.md:1: a path of one machine")
        self.expect({"scripts/x.sh": "curl https://py" + "pi.org/simple\n"}, "a package host")

    def test_unfinished_work(self):
        self.expect({"core/x.cpp": "// TO" + "DO later\n"}, "unfinished work")

    def test_mirror(self):
        self.expect({"tests/nothing/a_test.cpp": "\n"}, "tests/nothing")
        self.expect({"core/loader/a.cpp": "\n"}, "core/loader: no tests")


if __name__ == "__main__":
    unittest.main()
