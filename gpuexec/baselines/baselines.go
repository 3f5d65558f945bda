// Package baselines has the kernels of the papers' own methods, with which gpuexec is compared:
// Huang 2017's ranges (gpuexec.Ranges, RangesWAND and RangesBMW) and Wang 2017's rounds
// (gpuexec.Rounds). An Engine does not use them. Benchmarks and tests pass Kernels as
// gpuexec.Options.Baselines.
//
// The package knows its sources, which include those of gpuexec/kernels. It must not know how
// kernels are run. It makes no promise of compatibility.
package baselines

//go:generate ../kernels/ptx.sh ranges.cu and_rounds.cu decode.cu
