# The golden data against the shipped catalogue. The enumeration stays compressed in the source tree.
find_program(DSAKIT_GZIP gzip REQUIRED)
set(golden_decisions ${CMAKE_CURRENT_BINARY_DIR}/upstream_decisions.csv)
add_custom_command(
  OUTPUT ${golden_decisions}
  COMMAND ${DSAKIT_GZIP} -dc ${CMAKE_CURRENT_SOURCE_DIR}/golden/upstream_decisions.csv.gz > ${golden_decisions}
  DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/golden/upstream_decisions.csv.gz
  VERBATIM)
dsakit_test(golden DEPS dsakit_catalog dsakit_named_catalogs dsakit_device dsakit_oracle nlohmann_json::nlohmann_json
            DEFINITIONS DSAKIT_GOLDEN_DECISIONS="${golden_decisions}")
target_sources(golden_test PRIVATE ${golden_decisions})
dsakit_busy_test(golden_test)
