// The plugin file reader. The first byte chooses what the rest is: a whole image, the notes of a
// sound image, or the text of a sound note, so that each layer behind a check is reached.
#include "diag/render.hpp"
#include "fuzz/fuzz.hpp"
#include "manifest/elf_builder.hpp"
#include "manifest/schema.hpp"

using dsakit::test::ElfBuilder;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  std::string bytes(dsakit::fuzz::text(data + 1, size - 1));
  if (data[0] % 3 != 0) {
    ElfBuilder elf;
    if (data[0] % 3 == 1) elf.notes = bytes;
    if (data[0] % 3 == 2) {
      elf.notes = dsakit::test::note("DSAKIT", dsakit::kNoteType, dsakit::test::descriptor(bytes));
    }
    elf.layout();
    bytes = elf.build();
  }
  const auto file = dsakit::test::read_bytes(bytes);
  if (!file) {
    dsakit::fuzz::require(!render_text(file.error()).empty(), "a refusal has a text");
    return 0;
  }
  dsakit::fuzz::require(file->manifest_json.size() <= dsakit::kMaxManifestBytes,
                        "a manifest is bounded");
  (void)dsakit::parse_manifest(file->manifest_json, file->path);
  return 0;
}
