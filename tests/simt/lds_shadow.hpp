// What was done to each word of a workgroup's LDS since the last barrier, and what of it is a race.
// One thread an object.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace dsakit::simt {

// When and by whom: `step` counts the wave operations of that wave.
struct Access {
  int thread = 0;
  std::uint32_t epoch = 0, step = 0;  // epoch: barriers so far
};

class LdsShadow {
 public:
  void reset(std::size_t bytes);

  // Why the access is wrong; empty if it is not.
  std::string read(std::size_t offset, std::size_t bytes, const Access& by);
  std::string write(std::size_t offset, std::size_t bytes, const Access& by);

 private:
  struct Word {
    Access writer, reader;
    bool written = false, read = false;  // at all; read: since it was last written
    bool many_readers = false;           // lanes of more than one wave since then
  };
  std::string check_range(std::size_t offset, std::size_t bytes) const;

  std::vector<Word> words_;
};

}  // namespace dsakit::simt
