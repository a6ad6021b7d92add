// A HIP runtime that runs nothing and writes down what it is asked to launch. Its shared object is
// called libamdhip64.so.7, so a plugin that opens that name in the same process gets this one.
//
// Modules are real: a bundle is loaded only if it has code for the device's arch, and only
// functions of that code are found. One thread.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "plugins_hip/code_object.hpp"

namespace dsakit::test {

struct RecordedLaunch {
  std::string kernel;
  KernelFacts facts;
  unsigned grid[3] = {}, block[3] = {}, dynamic_lds = 0;
  void* stream = nullptr;
  int device = 0;
  std::vector<std::byte> argument;
};

struct FakeHip {
  std::string arch = "gfx942";
  int devices = 2, multiprocessors = 304;
  int current = 0;                   // device
  std::map<std::string, int> fails;  // function → result that it answers instead of working
  std::vector<RecordedLaunch> launches;
  int modules_loaded = 0, device_changes = 0;
};

FakeHip& fake_hip();

}  // namespace dsakit::test
