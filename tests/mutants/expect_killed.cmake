# Runs one test of a mutant: the test must exist, and must fail as a test does, not crash.
execute_process(COMMAND ${PROGRAM} --gtest_filter=${TEST} RESULT_VARIABLE result OUTPUT_VARIABLE output
                ERROR_VARIABLE output)
if(NOT output MATCHES "1 test from 1 test suite ran")
  message(FATAL_ERROR "${TEST} did not run to its end (result ${result}):\n${output}")
endif()
if(NOT result EQUAL 1 OR NOT output MATCHES "FAILED  \\] ${TEST}")
  message(FATAL_ERROR "the mistake survived ${TEST} (result ${result})")
endif()
