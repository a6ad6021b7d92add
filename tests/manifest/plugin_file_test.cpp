// The ELF note reader over hand-made images: each way in which a file can be no plugin has its
// code.
#include "manifest/plugin_file.hpp"

#include <gtest/gtest.h>

#include <functional>

#include <fmt/format.h>

#include "diag/render.hpp"
#include "manifest/crc32c.hpp"
#include "manifest/elf_builder.hpp"

namespace dsakit {
namespace {

using test::descriptor;
using test::ElfBuilder;
using test::note;
using test::read_bytes;

const std::string kOwner(kNoteOwner);

// The headline of the refusal of an image that `spoil` worked on after layout, or "read".
std::string outcome(const std::function<void(ElfBuilder&)>& spoil) {
  ElfBuilder elf;
  spoil(elf);
  const auto file = read_bytes(elf.build());
  return file ? "read"
              : fmt::format("{}: {}", code_name(file.error().code), headline(file.error()));
}

// The same for an image with these notes.
std::string outcome_of_notes(const std::string& notes) {
  return outcome([&](ElfBuilder& elf) {
    elf.notes = notes;
    elf.layout();
  });
}

std::string other_machine(const std::string& reason) {
  return "E0102: `image` is not a plugin for this machine: " + reason;
}
std::string damaged(const std::string& reason) {
  return "E0105: the manifest note of `image` is damaged: " + reason;
}

TEST(Crc32c, HasTheValueOfTheStandardCheckString) {
  const auto crc = [](std::string_view text) { return crc32c(std::as_bytes(std::span(text))); };
  EXPECT_EQ(crc("123456789"), 0xE3069283U);
  EXPECT_EQ(crc(""), 0U);
  EXPECT_EQ(crc(std::string(32, '\0')), 0x8A9136AAU);
}

TEST(PluginImage, IsReadWithItsDynamicSection) {
  ElfBuilder elf;
  elf.notes = note("GNU", 3, "abcd") + note(kOwner, kNoteType, descriptor("{\"id\":\"a\"}\n"));
  elf.layout();
  const auto file = read_bytes(elf.build());
  ASSERT_TRUE(file) << render_text(file.error());
  EXPECT_EQ(file->manifest_json, "{\"id\":\"a\"}\n");
  EXPECT_EQ(file->needed, (std::vector<std::string>{"libfirst.so"}));
  EXPECT_EQ(file->soname, "libown.so");
  EXPECT_EQ(file->runpath, "/run/path");
  EXPECT_FALSE(file->static_tls);
}

TEST(PluginImage, StaticTlsIsSeen) {
  ElfBuilder elf;
  elf.dynamic.push_back(ElfBuilder::entry(DT_FLAGS, DF_STATIC_TLS | DF_BIND_NOW));
  elf.layout();
  EXPECT_TRUE(read_bytes(elf.build())->static_tls);
}

TEST(PluginImage, OfAnotherKindIsRefused) {
  EXPECT_EQ(outcome([](auto& e) { e.header.e_ident[0] = 'x'; }),
            other_machine("it is not an ELF file"));
  EXPECT_EQ(outcome([](auto& e) { e.header.e_ident[EI_CLASS] = ELFCLASS32; }),
            other_machine("it is not a 64-bit ELF file"));
  EXPECT_EQ(outcome([](auto& e) { e.header.e_ident[EI_DATA] = ELFDATA2MSB; }),
            other_machine("it is not a little-endian ELF file"));
  EXPECT_EQ(outcome([](auto& e) { e.header.e_ident[EI_VERSION] = 9; }).substr(0, 5), "E0102");
  EXPECT_EQ(outcome([](auto& e) { e.header.e_machine = EM_RISCV; }).substr(0, 5), "E0102");
  EXPECT_EQ(outcome([](auto& e) { e.header.e_type = ET_EXEC; }),
            other_machine("ELF type 2, a shared object is 3"));
  EXPECT_EQ(outcome([](auto& e) { e.header.e_phentsize = 32; }),
            other_machine("program headers of 32 bytes"));
  for (const int count : {0, 65, 0xffff}) {
    EXPECT_EQ(outcome([&](auto& e) { e.header.e_phnum = static_cast<Elf64_Half>(count); }),
              other_machine(fmt::format("{} program headers, allowed are 1 to 64", count)));
  }
  EXPECT_EQ(outcome([](auto& e) { e.segments[0].p_type = PT_NULL; }),
            other_machine("it has no loadable segment"));
  EXPECT_EQ(outcome([](auto& e) { e.segments[2].p_type = PT_NULL; }),
            other_machine("it has no dynamic section"));
}

TEST(PluginImage, ThatIsCutShortIsRefused) {
  EXPECT_EQ(outcome([](auto& e) { ++e.segments[0].p_filesz; }).substr(0, 5), "E0103");
  EXPECT_EQ(outcome([](auto& e) { e.segments[0].p_filesz = ~0ULL; }).substr(0, 5), "E0103");
  EXPECT_EQ(outcome([](auto& e) {
              e.segments[0].p_offset = ~0ULL;
              e.segments[0].p_filesz = 2;
            }).substr(0, 5),
            "E0103");
  EXPECT_EQ(outcome([](auto& e) { e.header.e_phoff = ~0ULL - 8; }).substr(0, 5), "E0103");
  const std::string image = ElfBuilder().build();
  EXPECT_EQ(headline(read_bytes(image.substr(0, 63)).error()),
            "`image` is cut short: 63 bytes, an ELF header has 64");
  EXPECT_EQ(read_bytes("").error().code, Code::E0102);
  EXPECT_EQ(read_bytes("\x7f"
                       "EL")
                .error()
                .code,
            Code::E0102);
  for (std::size_t size = 0; size < image.size(); ++size) {
    EXPECT_FALSE(read_bytes(image.substr(0, size))) << size;
  }
}

TEST(PluginImage, WithoutOurNoteIsRefused) {
  EXPECT_EQ(outcome_of_notes(""), "E0104: `image` carries no dsakit manifest");
  EXPECT_EQ(outcome_of_notes(note("GNU", kNoteType, descriptor("{}"))),
            "E0104: `image` carries no dsakit manifest");
  EXPECT_EQ(outcome_of_notes(note("DSAKITX", kNoteType, descriptor("{}"))),
            "E0104: `image` carries no dsakit manifest");
  EXPECT_EQ(outcome([](auto& e) { e.segments[1].p_type = PT_NULL; }),
            "E0104: `image` carries no dsakit manifest");
}

TEST(PluginNote, TwiceIsRefused) {
  const std::string one = note(kOwner, kNoteType, descriptor("{}"));
  EXPECT_EQ(outcome_of_notes(one + one), damaged("there is more than one"));
  EXPECT_EQ(outcome_of_notes(one + note(kOwner, 7, "x")), damaged("there is more than one"));
}

TEST(PluginNote, ThatIsDamagedIsRefused) {
  const auto with = [](std::size_t at, char value) {
    std::string text = descriptor("{\"a\":1}");
    text[at] = value;
    return outcome_of_notes(note(kOwner, kNoteType, text));
  };
  EXPECT_EQ(with(0, 'x'), damaged("magic 0x314b5378"));
  EXPECT_EQ(with(4, 2), damaged("container version 2"));
  EXPECT_EQ(with(6, 2), damaged("encoding 2"));
  EXPECT_EQ(with(8, 6), damaged("it says 6 bytes and holds 7"));
  EXPECT_EQ(with(12, 0), damaged("its checksum does not match"));
  EXPECT_EQ(with(18, 'b'), damaged("its checksum does not match"));
  EXPECT_EQ(outcome_of_notes(note(kOwner, 7, descriptor("{}"))), damaged("note type 0x00000007"));
  EXPECT_EQ(outcome_of_notes(note(kOwner, kNoteType, "short")), damaged("a descriptor of 5 bytes"));
  EXPECT_EQ(outcome_of_notes(note(kOwner, kNoteType, "")), damaged("a descriptor of 0 bytes"));
}

TEST(PluginNote, IsBounded) {
  EXPECT_EQ(outcome_of_notes(note(kOwner, kNoteType, descriptor(std::string(65536, ' ')))), "read");
  EXPECT_EQ(outcome_of_notes(note(kOwner, kNoteType, descriptor(std::string(65537, ' ')))),
            damaged("a manifest of 65537 bytes, at most 65536 are read"));
  EXPECT_EQ(outcome_of_notes(note("GNU", 1, std::string(1 << 20, 'x'))),
            damaged("a segment of 1048592 bytes, at most 1048576 are read"));
}

TEST(PluginNote, ThatLeavesItsSegmentIsRefused) {
  for (const std::size_t field : {std::size_t{0}, std::size_t{4}}) {
    std::string bytes = note(kOwner, kNoteType, descriptor("{}"));
    std::memset(bytes.data() + field, 0xff, 4);
    EXPECT_EQ(outcome_of_notes(bytes), damaged("a note leaves its segment"));
  }
  EXPECT_EQ(outcome([](auto& e) { e.segments[1].p_filesz = ~0ULL; }).substr(0, 5), "E0103");
  EXPECT_EQ(outcome([](auto& e) { e.segments[1].p_offset = ~0ULL; }).substr(0, 5), "E0103");
}

TEST(PluginDynamic, ThatIsDamagedIsRefused) {
  EXPECT_EQ(outcome([](auto& e) { e.segments[2].p_filesz -= 1; }),
            other_machine("its dynamic section is damaged"));
  EXPECT_EQ(outcome([](auto& e) { e.segments[2].p_offset = ~0ULL; }),
            other_machine("its dynamic section is damaged"));
  EXPECT_EQ(outcome([](auto& e) { e.segments[2].p_filesz = 1 << 20; }).substr(0, 5), "E0102");
  EXPECT_EQ(outcome([](auto& e) { e.segments[0].p_vaddr = 0x9000; }),
            other_machine("its dynamic string table is damaged"));
  const auto with = [](Elf64_Sxword tag, Elf64_Xword value) {
    return outcome([&](auto& e) {
      e.dynamic.push_back(ElfBuilder::entry(tag, value));
      e.layout();
    });
  };
  EXPECT_EQ(with(DT_NEEDED, 33), other_machine("a name in its dynamic section is damaged"));
  EXPECT_EQ(with(DT_SONAME, ~0ULL), other_machine("a name in its dynamic section is damaged"));
  EXPECT_EQ(outcome([](auto& e) {
              e.strings.back() = 'x';
              e.layout();
            }),
            other_machine("a name in its dynamic section is damaged"));
  EXPECT_EQ(outcome([](auto& e) {
              for (int i = 0; i < 256; ++i) e.dynamic.push_back(ElfBuilder::entry(DT_NEEDED, 1));
              e.layout();
            }),
            other_machine("it needs too many libraries"));
}

}  // namespace
}  // namespace dsakit
