# The cpu plugin, driven through its table. Highway is linked for the test that visits every vector target.
find_package(hwy 1.0.3 REQUIRED)
file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_LIST_DIR}/*_test.cpp)
add_executable(plugins_cpu_test ${sources} plugins_cpu/harness.cpp)
target_include_directories(plugins_cpu_test PRIVATE ${CMAKE_CURRENT_SOURCE_DIR})
target_link_libraries(plugins_cpu_test PRIVATE dsakit_flags dsakit_conformance hwy::hwy Threads::Threads GTest::gtest
                                               GTest::gtest_main ${CMAKE_DL_LIBS})
target_compile_definitions(plugins_cpu_test PRIVATE CPU_PLUGIN="$<TARGET_FILE:dsakit_plugin_cpu>")
add_dependencies(plugins_cpu_test dsakit_plugin_cpu)
add_dependencies(dsakit_threaded_tests plugins_cpu_test)
# Tests whose names say that they start threads run under ThreadSanitizer too. A start of a sanitized program takes
# seconds, so there one start runs many tests.
set(threaded *Thread*)
if(DSAKIT_SANITIZE)
  add_test(NAME plugins_cpu_test COMMAND plugins_cpu_test --gtest_brief=1 --gtest_filter=-${threaded})
  add_test(NAME plugins_cpu_test.threads COMMAND plugins_cpu_test --gtest_brief=1 --gtest_filter=${threaded})
  set_tests_properties(plugins_cpu_test PROPERTIES LABELS plugins_cpu COST 20)
  set_tests_properties(plugins_cpu_test.threads PROPERTIES LABELS plugins_cpu.threads COST 20)
else()
  gtest_discover_tests(plugins_cpu_test DISCOVERY_TIMEOUT 60 TEST_FILTER -${threaded} PROPERTIES LABELS plugins_cpu)
  gtest_discover_tests(plugins_cpu_test DISCOVERY_TIMEOUT 60 TEST_FILTER ${threaded} TEST_LIST threaded_cpu_tests
                       PROPERTIES LABELS plugins_cpu.threads)
endif()
