# The kit judged by plugins whose one mistake is known, and the plugins of the project judged by the kit.
set(DSAKIT_TOY_DIR ${CMAKE_CURRENT_BINARY_DIR}/conformance/plugins)
add_library(dsakit_toy OBJECT conformance/wrong/toy.cpp)
target_link_libraries(dsakit_toy PRIVATE dsakit_flags PUBLIC dsakit_abi)
target_include_directories(dsakit_toy PRIVATE ${PROJECT_SOURCE_DIR}/plugins)
dsakit_numeric(dsakit_toy)  # most of the test's time is spent in toys
foreach(wrong right minus_one tail length_ignored lse_base sink_in_lse duplicates bf16_scales int32_offset allocates
              throws other_entry nan_leaks exits hangs claims_sink fp16_keys fp16_range nan_in_scale)
  configure_file(conformance/wrong/manifest.json.in conformance/${wrong}/manifest.json @ONLY)
  dsakit_add_plugin(toy_${wrong} MANIFEST ${CMAKE_CURRENT_BINARY_DIR}/conformance/${wrong}/manifest.json
                    SOURCES conformance/wrong/way.cpp LIBRARIES dsakit_toy OUTPUT_DIRECTORY ${DSAKIT_TOY_DIR} NO_INSTALL)
  target_compile_definitions(dsakit_plugin_toy_${wrong} PRIVATE TOY_WRONG="${wrong}")
  list(APPEND toy_targets dsakit_plugin_toy_${wrong})
endforeach()

dsakit_test(conformance DEPS dsakit_judge DEFINITIONS TOY_DIR="${DSAKIT_TOY_DIR}")
add_dependencies(conformance_test ${toy_targets})

# Instrumented, the toys show the kit and plugins_cpu_test the plugin.
if(NOT DSAKIT_SANITIZE)
  add_test(NAME conform.cpu COMMAND dsakit_program conform $<TARGET_FILE:dsakit_plugin_cpu>)
  set_tests_properties(conform.cpu PROPERTIES COST 30 LABELS conformance)
endif()
