#include "run/safetensors.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <optional>
#include <system_error>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "manifest/json.hpp"

namespace dsakit::cli {
namespace {

using nlohmann::json;

constexpr std::uint64_t kMaxHeader = 1 << 20;
constexpr std::size_t kMaxRank = 8, kMaxString = 65536;
constexpr std::size_t kLengthBytes = 8;
constexpr const char* kMetadata = "__metadata__";

struct Dtype {
  const char* name;
  DLDataType type;
};
// 10 is DLPack's code of e4m3fn, newer than some systems' header.
constexpr std::array<Dtype, 13> kDtypes{{{"BF16", {kDLBfloat, 16, 1}},
                                         {"F16", {kDLFloat, 16, 1}},
                                         {"F32", {kDLFloat, 32, 1}},
                                         {"F64", {kDLFloat, 64, 1}},
                                         {"I8", {kDLInt, 8, 1}},
                                         {"I16", {kDLInt, 16, 1}},
                                         {"I32", {kDLInt, 32, 1}},
                                         {"I64", {kDLInt, 64, 1}},
                                         {"U8", {kDLUInt, 8, 1}},
                                         {"U16", {kDLUInt, 16, 1}},
                                         {"U32", {kDLUInt, 32, 1}},
                                         {"U64", {kDLUInt, 64, 1}},
                                         {"F8_E4M3", {10, 8, 1}}}};

tl::unexpected<Diagnostic> malformed(const std::string& file, std::string reason) {
  return tl::make_unexpected(
      Diagnostic(Code::E0801).with("file", file).with("reason", std::move(reason)));
}

tl::unexpected<Diagnostic> not_read(const std::string& file, std::string reason) {
  return tl::make_unexpected(
      Diagnostic(Code::E0101).with("file", file).with("reason", std::move(reason)));
}

std::uint64_t length_of(const std::array<unsigned char, kLengthBytes>& bytes) {
  std::uint64_t length = 0;
  for (std::size_t i = kLengthBytes; i-- > 0;) length = length << 8 | bytes[i];
  return length;
}

bool is_count(const json& value) {
  return value.is_number_integer() && value.get<std::int64_t>() >= 0;
}

bool is_pair_of_counts(const json& value) {
  return value.is_array() && value.size() == 2 && is_count(value[0]) && is_count(value[1]);
}

// Elements times bits over 8, or nothing if that is no number of bytes.
std::optional<std::uint64_t> bytes_of(const std::vector<std::int64_t>& shape, DLDataType type) {
  std::uint64_t bytes = static_cast<std::uint64_t>(type.bits) / 8;
  for (const std::int64_t extent : shape)
    if (__builtin_mul_overflow(bytes, static_cast<std::uint64_t>(extent), &bytes))
      return std::nullopt;
  return bytes;
}

// Why the description of a tensor is wrong; empty if it is right and `entry` is filled.
std::string read_entry(const json& value, TensorFileEntry& entry) {
  if (!value.is_object() || !value.contains("dtype") || !value["dtype"].is_string() ||
      !value.contains("shape") || !value["shape"].is_array() || !value.contains("data_offsets"))
    return "it must have dtype, shape and data_offsets";
  entry.dtype = value["dtype"].get<std::string>();
  if (value["shape"].size() > kMaxRank) return fmt::format("it has more than {} axes", kMaxRank);
  for (const json& extent : value["shape"]) {
    if (!is_count(extent)) return "its shape is not a list of sizes";
    entry.shape.push_back(extent.get<std::int64_t>());
  }
  if (!is_pair_of_counts(value["data_offsets"])) return "its data_offsets are not two offsets";
  entry.begin = value["data_offsets"][0].get<std::uint64_t>();
  entry.end = value["data_offsets"][1].get<std::uint64_t>();
  if (entry.end < entry.begin) return "it ends before it begins";
  const DLDataType type = tensor_file_dtype(entry.dtype);
  if (type.bits == 0) return fmt::format("dtype {} is not known", entry.dtype);
  const auto bytes = bytes_of(entry.shape, type);
  if (!bytes || *bytes != entry.bytes()) return "its shape and dtype do not give its size";
  return "";
}

// Whether the tensors fill [0, bytes) once.
bool covers(const std::map<std::string, TensorFileEntry>& tensors, std::uint64_t bytes) {
  std::vector<std::pair<std::uint64_t, std::uint64_t>> parts;
  for (const auto& [name, entry] : tensors) parts.emplace_back(entry.begin, entry.end);
  std::ranges::sort(parts);
  std::uint64_t next = 0;
  for (const auto& [begin, end] : parts) {
    if (begin != next) return false;
    next = end;
  }
  return next == bytes;
}

}  // namespace

DLDataType tensor_file_dtype(const std::string& name) {
  for (const Dtype& dtype : kDtypes)
    if (name == dtype.name) return dtype.type;
  return {0, 0, 0};
}

std::string tensor_file_dtype_name(DLDataType type) {
  for (const Dtype& dtype : kDtypes)
    if (type.code == dtype.type.code && type.bits == dtype.type.bits) return dtype.name;
  return "";
}

tl::expected<TensorFile, Diagnostic> TensorFile::open(const std::string& file) {
  std::error_code error;
  const std::uint64_t size =
      std::filesystem::is_regular_file(file, error) ? std::filesystem::file_size(file, error) : 0;
  if (error) return not_read(file, error.message());
  std::ifstream in(file, std::ios::binary);
  if (!in) return not_read(file, "it cannot be opened");
  std::array<unsigned char, kLengthBytes> prefix{};
  if (!in.read(reinterpret_cast<char*>(prefix.data()), kLengthBytes))
    return malformed(file, "it is shorter than its first eight bytes");
  const std::uint64_t length = length_of(prefix);
  if (length > kMaxHeader)
    return malformed(file,
                     fmt::format("its header of {} bytes is longer than {}", length, kMaxHeader));
  if (length > size - kLengthBytes) return malformed(file, "its header passes the end of the file");
  std::string header(length, '\0');
  if (!in.read(header.data(), static_cast<std::streamsize>(length)))
    return not_read(file, "it ended while it was read");
  JsonLimits limits;
  limits.max_bytes = kMaxHeader;
  limits.max_string = kMaxString;
  const auto parsed = parse_strict_json(header, limits);
  if (!parsed) return malformed(file, "its header is not usable JSON: " + parsed.error());
  if (!parsed->is_object()) return malformed(file, "its header is not an object");
  TensorFile made;
  made.file_ = file;
  made.data_ = kLengthBytes + length;
  for (const auto& [name, value] : parsed->items()) {
    if (name == kMetadata) continue;
    std::string wrong = read_entry(value, made.tensors_[name]);
    if (!wrong.empty()) return malformed(file, fmt::format("tensor `{}`: {}", name, wrong));
  }
  if (!covers(made.tensors_, size - made.data_))
    return malformed(file, "its tensors overlap, leave gaps or do not end with the file");
  return made;
}

const TensorFileEntry* TensorFile::find(const std::string& name) const {
  const auto found = tensors_.find(name);
  return found == tensors_.end() ? nullptr : &found->second;
}

tl::expected<std::vector<std::byte>, Diagnostic> TensorFile::read(
    const TensorFileEntry& entry) const {
  std::ifstream in(file_, std::ios::binary);
  std::vector<std::byte> bytes(entry.bytes());
  in.seekg(static_cast<std::streamoff>(data_ + entry.begin));
  if (!in.read(reinterpret_cast<char*>(bytes.data()), static_cast<std::streamsize>(bytes.size())))
    return not_read(file_, "it changed while it was read");
  return bytes;
}

tl::expected<void, Diagnostic> write_tensor_file(const std::string& file,
                                                 const std::vector<NamedTensor>& tensors) {
  nlohmann::ordered_json header;
  std::uint64_t next = 0;
  std::vector<std::uint64_t> sizes;
  for (const NamedTensor& each : tensors) {
    const DLTensor& tensor = *each.tensor;
    const std::vector<std::int64_t> shape(tensor.shape, tensor.shape + tensor.ndim);
    sizes.push_back(bytes_of(shape, tensor.dtype).value_or(0));
    header[each.name] = {{"dtype", tensor_file_dtype_name(tensor.dtype)},
                         {"shape", shape},
                         {"data_offsets", {next, next + sizes.back()}}};
    next += sizes.back();
  }
  std::string text = header.dump();
  text.resize((text.size() + kLengthBytes - 1) / kLengthBytes * kLengthBytes, ' ');
  std::array<char, kLengthBytes> prefix{};
  for (std::size_t i = 0; i < kLengthBytes; ++i)
    prefix[i] = static_cast<char>(text.size() >> (8 * i) & 0xFF);
  std::ofstream out(file, std::ios::binary | std::ios::trunc);
  out.write(prefix.data(), kLengthBytes)
      .write(text.data(), static_cast<std::streamsize>(text.size()));
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    const DLTensor& tensor = *tensors[i].tensor;
    out.write(static_cast<const char*>(tensor.data) + tensor.byte_offset,
              static_cast<std::streamsize>(sizes[i]));
  }
  if (out.flush()) return {};
  return tl::make_unexpected(Diagnostic(Code::E0803)
                                 .with("file", file)
                                 .with("reason", std::generic_category().message(errno)));
}

}  // namespace dsakit::cli
