// CRC-32C (Castagnoli), the checksum of the manifest note. Pure; any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace dsakit {

std::uint32_t crc32c(std::span<const std::byte> bytes);

}  // namespace dsakit
