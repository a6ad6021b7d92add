# The C API's tests link libdsakit as a host engine would, and run the program beside it. Plugins that compute nothing,
# each wrong in one way, show what becomes of a plugin's mistakes.
set(DSAKIT_RUN_VARIANT_DIR ${CMAKE_CURRENT_BINARY_DIR}/host/plugins)
foreach(variant correct no_device refuses no_memory create_throws odd_number no_instance odd_alignment huge_workspace
                zeroes_more run_throws run_odd_number)
  set(id run_${variant})
  configure_file(host/variants/manifest.json.in host/${id}/manifest.json @ONLY)
  dsakit_add_plugin(${id} MANIFEST ${CMAKE_CURRENT_BINARY_DIR}/host/${id}/manifest.json
                    SOURCES host/variants/variant.cpp OUTPUT_DIRECTORY ${DSAKIT_RUN_VARIANT_DIR} NO_INSTALL)
  target_compile_definitions(dsakit_plugin_${id} PRIVATE VARIANT="${variant}" VARIANT_ID="${id}")
  list(APPEND run_variant_targets dsakit_plugin_${id})
endforeach()

set(run_definitions CPU_PLUGIN_DIR="$<TARGET_FILE_DIR:dsakit_plugin_cpu>" RUN_VARIANT_DIR="${DSAKIT_RUN_VARIANT_DIR}")
dsakit_test(host DEPS dsakit dsakit_host Threads::Threads THREADED DEFINITIONS ${run_definitions})
target_sources(host_test PRIVATE support/fake_plugin.cpp host/run_case.cpp)
add_dependencies(host_test dsakit_plugin_cpu ${run_variant_targets})

dsakit_test(host/parity DEPS dsakit dsakit_manifest DEFINITIONS DSAKIT_PROGRAM="$<TARGET_FILE:dsakit_program>")
target_sources(host_parity_test PRIVATE support/fake_plugin.cpp)
add_dependencies(host_parity_test dsakit_program)

# Sanitizers replace malloc themselves.
if(NOT DSAKIT_SANITIZE)
  dsakit_test(host/no_allocation DEPS dsakit DEFINITIONS ${run_definitions})
  target_sources(host_no_allocation_test PRIVATE host/run_case.cpp)
  add_dependencies(host_no_allocation_test dsakit_plugin_cpu)
endif()

add_test(NAME host.example_engine COMMAND host_engine)
set_tests_properties(host.example_engine PROPERTIES LABELS host)
