// Package emulator has no Go code except tests. They cover a CUDA emulator in C++ on which kernels
// are tested where there is no GPU. In src:
//
//	emulator.h      what a kernel's source sees; begins with what the emulator proves and cannot prove
//	fiber.cpp       a fiber for each CUDA thread
//	block.cpp       turns of a block's threads, and __syncthreads
//	warp.cpp        shuffles, votes and reductions
//	copy_async.cpp  cp.async
//	race.cpp        a race detector by CUDA's rules
//	launch.cpp      the blocks of a grid, one after another
//	driver*.cpp     a libcuda whose devices are emulated
package emulator
