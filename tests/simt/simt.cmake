# Kernels for AMD GPUs on a CPU: an emulator of waves, the kernels of the HIP plugins compiled for it from their own
# source, and a HIP runtime over it, by which the conformance kit judges the plugin files as they are.
add_library(dsakit_simt STATIC simt/emulator.cpp simt/fiber.cpp simt/lds_shadow.cpp)
target_include_directories(dsakit_simt PUBLIC ${CMAKE_CURRENT_SOURCE_DIR} ${PROJECT_SOURCE_DIR}/plugins)
target_link_libraries(dsakit_simt PRIVATE dsakit_flags PUBLIC dsakit_abi fmt::fmt)
target_compile_options(dsakit_simt PRIVATE -O2 -ffp-contract=off)
set_target_properties(dsakit_simt PROPERTIES UNITY_BUILD OFF)

# The kernels as they are for GPUs without and with wide products.
foreach(kind narrow wide)
  add_library(dsakit_simt_${kind} STATIC simt/kernels.cpp)
  target_link_libraries(dsakit_simt_${kind} PRIVATE dsakit_flags PUBLIC dsakit_simt)
  target_compile_options(dsakit_simt_${kind} PRIVATE -O2 -ffp-contract=off)
  set_target_properties(dsakit_simt_${kind} PROPERTIES UNITY_BUILD OFF)
endforeach()
target_compile_definitions(dsakit_simt_wide PRIVATE DSAKIT_WIDE_PRODUCTS)

dsakit_test(simt DEPS dsakit_simt_narrow dsakit_kvcache)
dsakit_busy_test(simt_test)
set_target_properties(simt_test PROPERTIES UNITY_BUILD OFF)
if(NOT DSAKIT_SANITIZE)
  add_executable(simt_wide_test simt/attention_test.cpp)
  target_link_libraries(simt_wide_test PRIVATE dsakit_flags dsakit_simt_wide dsakit_kvcache GTest::gtest GTest::gtest_main)
  dsakit_busy_test(simt_wide_test)
  gtest_discover_tests(simt_wide_test TEST_PREFIX wide. DISCOVERY_TIMEOUT 60 PROPERTIES LABELS simt)
endif()

# By hand: many shapes, which take minutes here.
foreach(kind narrow wide)
  add_executable(simt_${kind}_shapes_test EXCLUDE_FROM_ALL device/hip_shapes_test.cpp)
  target_link_libraries(simt_${kind}_shapes_test PRIVATE dsakit_flags dsakit_simt_${kind} dsakit_kvcache GTest::gtest GTest::gtest_main)
endforeach()

# A runtime for each GPU that there is code for: LD_LIBRARY_PATH=<build>/tests/simt/gfx942 dsakit conform …
foreach(arch IN LISTS DSAKIT_HIP_TARGETS)
  set(kind narrow)
  if(arch STREQUAL "gfx950")
    set(kind wide)
  endif()
  set(runtime emulated_${arch})
  add_library(${runtime} SHARED simt/emulated_hip.cpp simt/own_memory.cpp plugins_hip/code_object.cpp)
  set_target_properties(${runtime} PROPERTIES CXX_VISIBILITY_PRESET default UNITY_BUILD OFF
    OUTPUT_NAME amdhip64 SOVERSION 6 LIBRARY_OUTPUT_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR}/simt/${arch})
  target_compile_definitions(${runtime} PRIVATE EMULATED_ARCH="${arch}")
  target_compile_options(${runtime} PRIVATE -O2)
  target_link_options(${runtime} PRIVATE LINKER:-Bsymbolic)
  target_link_libraries(${runtime} PRIVATE dsakit_flags dsakit_simt_${kind} nlohmann_json::nlohmann_json Threads::Threads)
endforeach()

# usage: emulated_conformance(<plugin> <arch> <row>)      one row of a plugin, judged in the emulator
function(emulated_conformance id arch row)
  add_test(NAME emulated.${id}.${row} COMMAND dsakit_program conform $<TARGET_FILE:dsakit_plugin_${id}> --row ${row})
  set_tests_properties(emulated.${id}.${row} PROPERTIES COST 30 LABELS conformance
    ENVIRONMENT LD_LIBRARY_PATH=${CMAKE_CURRENT_BINARY_DIR}/simt/${arch})
endfunction()
if("gfx942" IN_LIST DSAKIT_HIP_TARGETS)
  emulated_conformance(tilelang gfx942 gfx942-fp8)
  emulated_conformance(aiter gfx942 gfx942-bf16)
endif()
if("gfx950" IN_LIST DSAKIT_HIP_TARGETS)
  emulated_conformance(tilelang gfx950 gfx950-fp8-groups)
endif()
