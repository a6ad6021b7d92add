#include "simt/fiber.hpp"

#include <cstdint>

extern "C" {
// Saves what a call preserves on this stack, its pointer in *from, and goes on with the stack `to`.
void dsakit_simt_switch(void** from, void* to);
// Where a new stack begins: calls the function in one preserved register with the other.
void dsakit_simt_first();
}

#if defined(__x86_64__)
asm(R"(
    .text
    .globl dsakit_simt_switch
    .type dsakit_simt_switch, @function
dsakit_simt_switch:
    push %rbp
    push %rbx
    push %r12
    push %r13
    push %r14
    push %r15
    mov %rsp, (%rdi)
    mov %rsi, %rsp
    pop %r15
    pop %r14
    pop %r13
    pop %r12
    pop %rbx
    pop %rbp
    ret
    .globl dsakit_simt_first
    .type dsakit_simt_first, @function
dsakit_simt_first:
    mov %r13, %rdi
    call *%r12
    ud2
)");
#elif defined(__aarch64__)
asm(R"(
    .text
    .globl dsakit_simt_switch
    .type dsakit_simt_switch, %function
dsakit_simt_switch:
    sub sp, sp, #160
    stp x19, x20, [sp, #0]
    stp x21, x22, [sp, #16]
    stp x23, x24, [sp, #32]
    stp x25, x26, [sp, #48]
    stp x27, x28, [sp, #64]
    stp x29, x30, [sp, #80]
    stp d8, d9, [sp, #96]
    stp d10, d11, [sp, #112]
    stp d12, d13, [sp, #128]
    stp d14, d15, [sp, #144]
    mov x9, sp
    str x9, [x0]
    mov sp, x1
    ldp x19, x20, [sp, #0]
    ldp x21, x22, [sp, #16]
    ldp x23, x24, [sp, #32]
    ldp x25, x26, [sp, #48]
    ldp x27, x28, [sp, #64]
    ldp x29, x30, [sp, #80]
    ldp d8, d9, [sp, #96]
    ldp d10, d11, [sp, #112]
    ldp d12, d13, [sp, #128]
    ldp d14, d15, [sp, #144]
    add sp, sp, #160
    ret
    .globl dsakit_simt_first
    .type dsakit_simt_first, %function
dsakit_simt_first:
    mov x0, x20
    blr x19
    brk #1
)");
#else
#error "add the switch of this architecture"
#endif

namespace dsakit::simt {

void Fiber::start(void (*body)(void*), void* context) {
  if (!stack_) stack_ = std::make_unique_for_overwrite<std::byte[]>(kStack);
  const auto end = (reinterpret_cast<std::uintptr_t>(stack_.get()) + kStack) & ~std::uintptr_t{63};
  auto* const top = reinterpret_cast<void**>(end);
#if defined(__x86_64__)
  // r15, r14, r13, r12, rbx, rbp, return address; then the stack is empty and aligned for the call.
  void** const frame = top - 7;
  frame[2] = context;
  frame[3] = reinterpret_cast<void*>(body);
  frame[6] = reinterpret_cast<void*>(&dsakit_simt_first);
#else
  void** const frame = top - 20;
  frame[0] = reinterpret_cast<void*>(body);
  frame[1] = context;
  frame[11] = reinterpret_cast<void*>(&dsakit_simt_first);
#endif
  inside_ = frame;
}

void Fiber::enter() {
  dsakit_simt_switch(&outside_, inside_);
}

void Fiber::leave() {
  dsakit_simt_switch(&inside_, outside_);
}

}  // namespace dsakit::simt
