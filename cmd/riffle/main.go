// Command riffle builds, searches, measures and maintains riffle indexes.
//
//	riffle index --db DIR docs.jsonl.zst     documents in
//	riffle search --db DIR moby dick         ranked hits out
//	riffle run, eval, bench                  experiments: answers for many queries, how good, how fast
//	riffle get, update, delete               single documents, and what a query matches
//	riffle stat, check, compact, checkpoint  the index as a whole
//
// Each command is a file of its own here, named after it; `riffle help COMMAND` describes it.
// Answers go to standard output, everything else to standard error. Exit codes: 0 done, 1 failed
// (or a fault found, or a document missing), 2 called wrongly.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second signal ends the process at once
	os.Exit(execute(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}
