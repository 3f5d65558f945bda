// Copies from global to shared memory that a thread starts and does not wait for (cp.async, sm_80).
// 16 bytes each, both sides aligned to 16. The thread's copies so far are closed into a group by
// copy_async_commit; copy_async_wait<n> returns when all but the last n groups have arrived. A
// barrier then shows them to other threads.
#pragma once

__device__ __forceinline__ void copy_async_16(void *shared, const void *global) {
  unsigned to = static_cast<unsigned>(__cvta_generic_to_shared(shared));
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(to), "l"(global) : "memory");
}
__device__ __forceinline__ void copy_async_commit() { asm volatile("cp.async.commit_group;" ::: "memory"); }
template <int n>
__device__ __forceinline__ void copy_async_wait() {
  asm volatile("cp.async.wait_group %0;" ::"n"(n) : "memory");
}
