# Third-party libraries, all from the distribution's packages; scripts/deps.sh installs them.
find_package(Threads REQUIRED)
find_package(fmt 9 REQUIRED)
find_package(nlohmann_json 3.11 REQUIRED)
find_package(tl-expected REQUIRED)
find_package(CLI11 2.1 REQUIRED)
if(POLICY CMP0167)
  cmake_policy(SET CMP0167 NEW)  # Boost's own description of itself; newer CMake has no other
endif()
find_package(Boost 1.81 REQUIRED)
