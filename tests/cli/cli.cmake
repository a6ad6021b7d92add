dsakit_test(catalog UNIT DEPS dsakit_catalog)
target_sources(catalog_test PRIVATE support/fake_plugin.cpp)

dsakit_test(cli DEPS dsakit_cli DEFINITIONS DSAKIT_PROGRAM="$<TARGET_FILE:dsakit_program>"
                                            DSAKIT_TINY_PLUGIN="$<TARGET_FILE:dsakit_plugin_tiny_cpu>"
                                            CPU_PLUGIN_DIR="$<TARGET_FILE_DIR:dsakit_plugin_cpu>"
                                            FAKE_CUDA_MEMORY="$<TARGET_FILE:fake_cuda_memory>"
                                            FAKE_CUPTI="$<TARGET_FILE:fake_cupti>"
                                            RUN_VARIANT_DIR="${DSAKIT_RUN_VARIANT_DIR}")
foreach(fake fake_cuda_memory fake_cupti)
  add_library(${fake} MODULE cli/fakes/${fake}.cpp)
  set_target_properties(${fake} PROPERTIES CXX_VISIBILITY_PRESET default
                        LIBRARY_OUTPUT_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR}/cli)
  add_dependencies(cli_test ${fake})
endforeach()
if(TARGET CUDA::cupti)
  target_compile_definitions(cli_test PRIVATE DSAKIT_TEST_CUPTI)
  target_include_directories(cli_test SYSTEM PRIVATE ${CUDAToolkit_INCLUDE_DIRS})
endif()
target_sources(cli_test PRIVATE cli/ui_case.cpp support/fake_plugin.cpp)
add_dependencies(cli_test dsakit_program dsakit_plugin_tiny_cpu dsakit_plugin_cpu ${run_variant_targets})
