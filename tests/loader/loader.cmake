# Plugins that are wrong in one way each, for the loader's refusals; and the loader's test program.
set(DSAKIT_VARIANT_DIR ${CMAKE_CURRENT_BINARY_DIR}/loader/plugins)
foreach(variant correct newer_table older_table size_zero other_abi null_run other_id other_version
                other_manifest nonsense_size throws refuses refuses_silently future_abi)
  set(id variant_${variant})
  set(abi 1)
  if(variant STREQUAL "future_abi")
    set(abi 7)
  endif()
  configure_file(loader/variants/manifest.json.in loader/${id}/manifest.json @ONLY)
  dsakit_add_plugin(${id} MANIFEST ${CMAKE_CURRENT_BINARY_DIR}/loader/${id}/manifest.json
                    SOURCES loader/variants/variant.cpp OUTPUT_DIRECTORY ${DSAKIT_VARIANT_DIR} NO_INSTALL)
  target_compile_definitions(dsakit_plugin_${id} PRIVATE VARIANT="${variant}" VARIANT_ID="${id}")
  list(APPEND variant_targets dsakit_plugin_${id})
endforeach()

dsakit_test(loader DEPS dsakit_loader Threads::Threads THREADED
            DEFINITIONS VARIANT_DIR="${DSAKIT_VARIANT_DIR}")
add_dependencies(loader_test ${variant_targets})
