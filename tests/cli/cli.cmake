dsakit_test(catalog DEPS dsakit_catalog)
target_sources(catalog_test PRIVATE support/fake_plugin.cpp)

# The C API's tests link libdsakit as a host engine would, and run the program beside it.
dsakit_test(host DEPS dsakit dsakit_host DEFINITIONS DSAKIT_PROGRAM="$<TARGET_FILE:dsakit_program>")
target_sources(host_test PRIVATE support/fake_plugin.cpp)
add_dependencies(host_test dsakit_program)

dsakit_test(cli DEPS dsakit_cli DEFINITIONS DSAKIT_PROGRAM="$<TARGET_FILE:dsakit_program>"
                                            DSAKIT_TINY_PLUGIN="$<TARGET_FILE:dsakit_plugin_tiny_cpu>")
target_sources(cli_test PRIVATE cli/ui_case.cpp support/fake_plugin.cpp)
add_dependencies(cli_test dsakit_program dsakit_plugin_tiny_cpu)
