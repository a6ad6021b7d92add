# Planted mistakes: each patch in this folder is applied to a copy of one shipped source, that source alone
# is compiled and put before the prebuilt solver, and the property named in the patch must then fail.
# The first two lines of a patch say what the mistake is and which test kills it.
# `ctest -L mutants` builds and runs them; a normal build does not.
find_program(DSAKIT_PATCH patch)
if(NOT DSAKIT_PATCH)
  message(WARNING "`patch` was not found: the planted mistakes are not tested")
  return()
endif()

# usage: dsakit_mutant(<patch file>)
function(dsakit_mutant patch)
  get_filename_component(name ${patch} NAME_WE)
  file(STRINGS ${patch} killer REGEX "^Killed-by: ")
  string(REPLACE "Killed-by: " "" killer "${killer}")
  file(STRINGS ${patch} source REGEX "^--- a/" LIMIT_COUNT 1)
  string(REPLACE "--- a/" "" source "${source}")
  if(killer STREQUAL "" OR source STREQUAL "")
    message(FATAL_ERROR "${patch} names no test or no source")
  endif()
  # It stands in for an object of its own.
  set_source_files_properties(${PROJECT_SOURCE_DIR}/${source} TARGET_DIRECTORY dsakit_solver
                              PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
  set(patched ${CMAKE_CURRENT_BINARY_DIR}/mutants/${name}/${source})
  add_custom_command(
    OUTPUT ${patched}
    COMMAND ${DSAKIT_PATCH} --quiet --output ${patched} ${PROJECT_SOURCE_DIR}/${source} ${patch}
    DEPENDS ${patch} ${PROJECT_SOURCE_DIR}/${source}
    COMMENT "Planting ${name}" VERBATIM)
  add_executable(mutant_${name} EXCLUDE_FROM_ALL ${patched} $<TARGET_OBJECTS:property_test>)
  target_link_libraries(mutant_${name} PRIVATE dsakit_flags dsakit_oracle dsakit_solver Threads::Threads
                                               GTest::gtest GTest::gtest_main)
  target_compile_options(mutant_${name} PRIVATE -O0)
  set_target_properties(mutant_${name} PROPERTIES UNITY_BUILD OFF RUNTIME_OUTPUT_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR}/mutants)
  add_dependencies(mutants mutant_${name})
  add_test(NAME mutant.${name} COMMAND ${CMAKE_COMMAND} -DPROGRAM=$<TARGET_FILE:mutant_${name}> -DTEST=${killer}
                                       -P ${PROJECT_SOURCE_DIR}/tests/mutants/expect_killed.cmake)
  set_tests_properties(mutant.${name} PROPERTIES LABELS mutants FIXTURES_REQUIRED mutants)
endfunction()

add_custom_target(mutants)
add_test(NAME mutants.build COMMAND ${CMAKE_COMMAND} --build ${CMAKE_BINARY_DIR} --target mutants)
set_tests_properties(mutants.build PROPERTIES LABELS mutants FIXTURES_SETUP mutants)
file(GLOB mutant_patches CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/mutants/*.patch)
foreach(patch IN LISTS mutant_patches)
  dsakit_mutant(${patch})
endforeach()
