// Modules of PTX, and launches of the kernels that they name.
#include <dlfcn.h>
#include <stdlib.h>

#include <algorithm>

#include "driver.h"
#include "launch.h"

using namespace driver;

namespace {

// This library, where kernels are looked for.
void *self() {
  static void *const library = [] {
    Dl_info info;
    dladdr(reinterpret_cast<void *>(&cuInit), &info);
    return dlopen(info.dli_fname, RTLD_NOW | RTLD_NOLOAD);
  }();
  return library;
}

unsigned number_after(const std::string &text, const std::string &word, unsigned otherwise) {
  size_t at = text.find(word);
  return at == std::string::npos ? otherwise : strtoul(text.c_str() + at + word.size(), nullptr, 10);
}

// Bytes of .shared declared in, or mentioned by, a kernel, as in
//   .shared .align 4 .b8 name[1024];
// Those without a size are dynamic.
unsigned static_shared(const std::string &module, const std::string &body) {
  unsigned sum = 0;
  for (size_t at = 0; (at = module.find(".shared .align", at)) != std::string::npos; at++) {
    size_t open = module.find('[', at), name = module.rfind(' ', open) + 1;
    unsigned size = strtoul(module.c_str() + open + 1, nullptr, 10);
    if (size > 0 && body.find(module.substr(name, open - name)) != std::string::npos) sum += size;
  }
  return sum;
}

// name( .param ... ) .maxntid ... { body }, from behind ".entry ".
Kernel parse(const std::string &module, size_t at) {
  size_t open = module.find('(', at), close = module.find(')', open), begin = module.find('{', close);
  size_t end = module.find("\n}", begin);
  Kernel k;
  k.name = module.substr(at, open - at);
  for (size_t p = open; (p = module.find(".param", p)) < close; p++) k.parameters++;
  k.max_threads = number_after(module.substr(close, begin - close), ".maxntid ", 1024);
  k.static_shared = static_shared(module, module.substr(begin, end - begin));
  k.code = reinterpret_cast<void (*)(const void *)>(dlsym(self(), k.name.c_str()));
  return k;
}

CUresult load(CUctx_st &context, CUmodule *to, const char *image) {
  std::string text = image;
  if (text.find(".version ") == std::string::npos) return CUDA_ERROR_INVALID_IMAGE;
  if (text.find(".target sm_") == std::string::npos) return CUDA_ERROR_INVALID_PTX;
  auto module = std::make_unique<CUmod_st>();
  for (size_t at = 0; (at = text.find(".entry ", at)) != std::string::npos;) {
    at += 7;
    auto function = std::make_unique<CUfunc_st>();
    function->kernel = parse(text, at);
    std::string name = function->kernel.name;
    module->functions[name] = std::move(function);
  }
  *to = module.get();
  context.modules[*to] = std::move(module);
  return CUDA_SUCCESS;
}

void execute(CUctx_st &context, const emulator::Grid &grid) {
  if (context.lost) return;
  if (context.launches++ >= context.fail_after) {
    context.lost = CUDA_ERROR_LAUNCH_FAILED;
    return;
  }
  std::string report = emulator::launch(grid);
  if (report.empty()) return;
  complain(report);
  context.lost = CUDA_ERROR_LAUNCH_FAILED;
}

} // namespace

extern "C" {

CUresult cuModuleLoadData(CUmodule *module, const void *image) {
  WITH_CONTEXT
  return load(context, module, static_cast<const char *>(image));
}

CUresult cuModuleUnload(CUmodule module) {
  WITH_CONTEXT
  context.drain();
  return context.modules.erase(module) ? context.lost : CUDA_ERROR_INVALID_HANDLE;
}

CUresult cuModuleGetFunction(CUfunction *function, CUmodule module, const char *name) {
  WITH_CONTEXT
  if (!context.modules.count(module)) return CUDA_ERROR_INVALID_HANDLE;
  auto it = module->functions.find(name);
  if (it == module->functions.end()) return CUDA_ERROR_NOT_FOUND;
  if (!it->second->kernel.code) {
    complain(std::string("the PTX has a kernel ") + name + ", the emulator has not: run gpuexec/emulator/build.sh");
    return CUDA_ERROR_NOT_FOUND;
  }
  *function = it->second.get();
  return CUDA_SUCCESS;
}

CUresult cuFuncSetAttribute(CUfunction function, CUfunction_attribute attribute, int value) {
  WITH_CONTEXT
  if (attribute != CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES)
    return attribute == CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
  if (value < 0 || value + function->kernel.static_shared > shared_of_block()) return CUDA_ERROR_INVALID_VALUE;
  function->dynamic_shared = value;
  return CUDA_SUCCESS;
}

CUresult cuFuncGetAttribute(int *value, CUfunction_attribute attribute, CUfunction function) {
  WITH_CONTEXT
  switch (attribute) {
  case CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK:
    *value = function->kernel.max_threads;
    break;
  case CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES:
    *value = function->kernel.static_shared;
    break;
  case CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES:
    *value = function->dynamic_shared;
    break;
  case CU_FUNC_ATTRIBUTE_NUM_REGS:
    *value = 32;
    break;
  case CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES:
    *value = 0;
    break;
  default:
    return CUDA_ERROR_INVALID_VALUE;
  }
  return CUDA_SUCCESS;
}

CUresult cuOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, CUfunction function, int threads, size_t shared) {
  WITH_CONTEXT
  if (threads < 1 || unsigned(threads) > function->kernel.max_threads) return CUDA_ERROR_INVALID_VALUE;
  size_t of_block = shared + function->kernel.static_shared + 1024; // the system keeps 1 KiB a block
  *blocks = std::min({2048 / threads, 32, static_cast<int>(shared_of_multiprocessor() / of_block)});
  return CUDA_SUCCESS;
}

CUresult cuLaunchKernel(CUfunction function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,
                        unsigned block_y, unsigned block_z, unsigned shared, CUstream stream, void **parameters,
                        void **) {
  WITH_CONTEXT
  if (!valid(context, stream)) return CUDA_ERROR_INVALID_HANDLE;
  const Kernel &k = function->kernel;
  uint64_t threads = uint64_t(block_x) * block_y * block_z, blocks = uint64_t(grid_x) * grid_y * grid_z;
  if (k.parameters != 1 || !threads || threads > k.max_threads || !blocks || shared > function->dynamic_shared ||
      (function->dynamic_shared <= 48 << 10 && shared + k.static_shared > 48 << 10)) {
    complain("launch of " + k.name + ": " + std::to_string(blocks) + " blocks of " + std::to_string(threads) + " threads (of " +
             std::to_string(k.max_threads) + "), " + std::to_string(shared) + " bytes of dynamic shared memory (of " +
             std::to_string(function->dynamic_shared) + "), " + std::to_string(k.static_shared) + " static");
    return CUDA_ERROR_INVALID_VALUE;
  }
  void *args = *static_cast<void **>(parameters[0]);
  emulator::Grid grid = {k.name.c_str(), k.code, args, {grid_x, grid_y, grid_z}, {block_x, block_y, block_z}, shared,
                         setting("RIFFLE_EMULATOR_SEED", 0)};
  CUctx_st *c = &context;
  enqueue(context, stream, {[=] { execute(*c, grid); }, nullptr});
  return CUDA_SUCCESS;
}
}
