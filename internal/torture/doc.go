// Torture is riffle's campaign against itself. It takes indexes through lives in which disks fail,
// machines stop, files are damaged and processes are killed, and then checks everything that can be
// observed.
//
//	go run ./internal/torture -time 1m            # all parts, a minute
//	go run ./internal/torture -time 8h -workers 4 # a night
//	go run ./internal/torture -only crash,flip    # some parts
//	go run ./internal/torture -help               # lists the parts
//
// A part makes its cases from a seed. A failed case is printed with the command that repeats it:
//
//	go run ./internal/torture -only flip -seed 7 -case 132
//
// The campaign then continues with the next case, and exits with 1 at its end.
//
// # How it runs
//
// The campaign gives each part a slice of time in turn. A slice is a process of its own, so that a
// part which crashes, hangs or runs out of memory is a failed case and not the end of the campaign.
// It continues with the case at which the last slice of the part stopped; when a round has no more
// cases, the next one has the next seed. A short campaign thus runs the first cases of each part,
// and a long one all of them, many times.
//
// Indexes are on a file system in memory, the disk, which consults a rule before every operation.
// The rule distinguishes the parts. Package internal/hook puts the disk below an Engine.
//
// Steps, randomness and damage follow from the seed. The scheduling of an Engine's goroutines does
// not: operation 132 of a life may be another one next time. So a case may repeat only after a few
// tries.
package main
