# The host side of the HIP plugins against a runtime that writes down launches. It has the name of the real one, so it is
# linked into the test program and found there by what the plugins open.
add_library(fake_amdhip64 SHARED plugins_hip/fakes/fake_hip.cpp plugins_hip/code_object.cpp)
set_target_properties(fake_amdhip64 PROPERTIES CXX_VISIBILITY_PRESET default UNITY_BUILD OFF
  OUTPUT_NAME amdhip64 SOVERSION 7 LIBRARY_OUTPUT_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR}/plugins_hip)
target_include_directories(fake_amdhip64 PUBLIC ${CMAKE_CURRENT_SOURCE_DIR})
target_link_libraries(fake_amdhip64 PRIVATE dsakit_flags nlohmann_json::nlohmann_json)

dsakit_test(plugins_hip DEPS dsakit_hip_runtime fake_amdhip64)
dsakit_hip_bundle(plugins_hip_test SYMBOL dsakit_test_probe SOURCE plugins_hip/probe.hip)
target_link_libraries(plugins_hip_test PRIVATE dsakit_catalog dsakit_device)
list(JOIN DSAKIT_HIP_TARGETS " " hip_targets)
target_compile_definitions(plugins_hip_test PRIVATE
  TILELANG_PLUGIN="$<TARGET_FILE:dsakit_plugin_tilelang>" AITER_PLUGIN="$<TARGET_FILE:dsakit_plugin_aiter>"
  HIP_TARGETS="${hip_targets}" HIP_TOOLKIT="${DSAKIT_HIP_TOOLKIT}" PLUGIN_DIR="$<TARGET_FILE_DIR:dsakit_plugin_tilelang>")
add_dependencies(plugins_hip_test dsakit_plugin_tilelang dsakit_plugin_aiter)
if(DSAKIT_HAVE_CUDA)
  add_dependencies(plugins_hip_test dsakit_plugin_flashmla_sparse)
endif()
