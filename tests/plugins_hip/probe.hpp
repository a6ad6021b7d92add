// The one argument of the probe kernels, for host and device.
#pragma once

namespace dsakit::test {

struct ProbeArguments {
  int* out;
  int count;
  long long wide;
};

}  // namespace dsakit::test
