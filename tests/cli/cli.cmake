dsakit_test(catalog UNIT DEPS dsakit_catalog)
target_sources(catalog_test PRIVATE support/fake_plugin.cpp)

dsakit_test(cli DEPS dsakit_cli DEFINITIONS DSAKIT_PROGRAM="$<TARGET_FILE:dsakit_program>"
                                            DSAKIT_TINY_PLUGIN="$<TARGET_FILE:dsakit_plugin_tiny_cpu>"
                                            CPU_PLUGIN_DIR="$<TARGET_FILE_DIR:dsakit_plugin_cpu>"
                                            FAKE_CUDA_MEMORY="$<TARGET_FILE:fake_cuda_memory>"
                                            RUN_VARIANT_DIR="${DSAKIT_RUN_VARIANT_DIR}")
add_library(fake_cuda_memory MODULE cli/fakes/fake_cuda_memory.cpp)
set_target_properties(fake_cuda_memory PROPERTIES CXX_VISIBILITY_PRESET default
                      LIBRARY_OUTPUT_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR}/cli)
target_sources(cli_test PRIVATE cli/ui_case.cpp support/fake_plugin.cpp)
add_dependencies(cli_test dsakit_program dsakit_plugin_tiny_cpu dsakit_plugin_cpu fake_cuda_memory ${run_variant_targets})
