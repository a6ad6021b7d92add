# The oracle and the generator link nothing of core/: they judge the solver and must not share its mistakes.
file(GLOB oracle_sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/property/oracle/*.cpp
     ${CMAKE_CURRENT_SOURCE_DIR}/property/generate*.cpp)
list(FILTER oracle_sources EXCLUDE REGEX "_test\\.cpp$")
add_library(dsakit_oracle STATIC ${oracle_sources})
target_include_directories(dsakit_oracle PUBLIC ${CMAKE_CURRENT_SOURCE_DIR})
target_link_libraries(dsakit_oracle PRIVATE dsakit_flags PUBLIC nlohmann_json::nlohmann_json)
dsakit_busy_test(dsakit_oracle)
dsakit_test(property/oracle DEPS dsakit_oracle)

# The properties of the shipped solver, judged with the oracle's help.
dsakit_test(property DEPS dsakit_oracle dsakit_solver Threads::Threads)
dsakit_busy_test(property_test)
target_sources(property_test PRIVATE property/harness.cpp property/compare.cpp property/shrink.cpp)
include(mutants/mutants.cmake)
