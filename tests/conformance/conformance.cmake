# The kit judged by plugins whose one mistake is known, and the plugins of the project judged by the kit.
set(DSAKIT_TOY_DIR ${CMAKE_CURRENT_BINARY_DIR}/conformance/plugins)
foreach(wrong right minus_one tail length_ignored lse_base sink_in_lse duplicates bf16_scales int32_offset allocates
              throws other_entry nan_leaks exits hangs claims_sink fp16_keys fp16_range nan_in_scale)
  configure_file(conformance/wrong/manifest.json.in conformance/${wrong}/manifest.json @ONLY)
  dsakit_add_plugin(toy_${wrong} MANIFEST ${CMAKE_CURRENT_BINARY_DIR}/conformance/${wrong}/manifest.json
                    SOURCES conformance/wrong/toy.cpp INCLUDES ${PROJECT_SOURCE_DIR}/plugins
                    OUTPUT_DIRECTORY ${DSAKIT_TOY_DIR} NO_INSTALL)
  target_compile_definitions(dsakit_plugin_toy_${wrong} PRIVATE TOY_WRONG="${wrong}")
  dsakit_numeric(dsakit_plugin_toy_${wrong})  # most of the test's time is spent in toys
  list(APPEND toy_targets dsakit_plugin_toy_${wrong})
endforeach()

dsakit_test(conformance DEPS dsakit_judge DEFINITIONS TOY_DIR="${DSAKIT_TOY_DIR}")
add_dependencies(conformance_test ${toy_targets})

# usage: dsakit_conform_test(<id> <row>)     the reduced tier of a plugin of the project; instrumented, one row of it
function(dsakit_conform_test id row)
  set(options "")
  if(DSAKIT_SANITIZE)
    set(options --row ${row})
  endif()
  add_test(NAME conform.${id} COMMAND dsakit_program conform $<TARGET_FILE:dsakit_plugin_${id}> ${options})
  set_tests_properties(conform.${id} PROPERTIES COST 30 LABELS conformance)
endfunction()
dsakit_conform_test(cpu fp8-groups)
