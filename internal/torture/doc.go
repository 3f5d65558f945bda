// Torture is riffle's campaign against itself. It leads indexes through lives in which
// disks fail, machines stop, files are damaged and processes are killed, and looks at
// everything that can be seen of them afterwards.
//
//	go run ./internal/torture -time 1m            # all parts, a minute
//	go run ./internal/torture -time 8h -workers 4 # a night
//	go run ./internal/torture -only crash,flip    # some parts
//	go run ./internal/torture -help               # what parts there are
//
// A part makes its cases from a seed. A failed case is printed with the command that
// repeats it:
//
//	go run ./internal/torture -only flip -seed 7 -case 132
//
// The campaign then goes on with the next case, and exits with 1 at its end.
//
// # How it runs
//
// The campaign gives each part a slice of time in turn. A slice is a process of its own,
// so that a part which crashes, hangs or runs out of memory is a failed case and not the
// end of the campaign. It goes on with the case at which the last slice of the part
// stopped; when a round has no more cases, the next one has the next seed. A short
// campaign thus runs the first cases of each part, and a long one all of them, many
// times.
//
// Indexes lie on a file system in memory, the disk, which asks a rule before every
// operation whether it works. The rule of a part is what makes it a part. Package
// internal/hook puts the disk below an Engine.
//
// Steps, chance and damage follow from the seed. What does not is when goroutines of an
// Engine take their turns: operation 132 of a life may be another one next time. So a
// case is sometimes repeated only after a few tries.
package main
