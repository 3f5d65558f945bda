package main

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"time"
)

// A kind is what a fault does.
type kind string

const (
	kill       kind = "kill"        // kill -9 of a node, which starts again at the end of the fault
	killLeader kind = "kill-leader" // the same, of the node that leads the log of a shard at the time
	killTwo    kind = "kill-two"    // of two nodes: no log has a quorum
	pause      kind = "pause"       // SIGSTOP, and SIGCONT at the end
	cut        kind = "cut"         // no packets between a node and the other nodes; clients reach it
	isolate    kind = "isolate"     // no packets between a node and anybody
	oneWay     kind = "one-way"     // packets of a node do not reach another one
	deaf       kind = "deaf"        // packets of all other nodes do not reach a node; its own do
	slowSync   kind = "slow-sync"   // each fsync of a node takes Delay longer
	full       kind = "full"        // the disk of a node is full
	wipe       kind = "wipe"        // kill -9, and the node's indexes are removed before it starts again
	clock      kind = "clock"       // the wall clock of a node steps by Step, and back at the end

	// What operators do. It goes on until it is done, or patience is over.
	move  kind = "move"  // a replica moves to another node; if all have one, it is removed and added again
	drain kind = "drain" // a node is drained, and filled again
	trim  kind = "trim"  // the logs are trimmed
)

var kinds = []kind{kill, killLeader, killTwo, pause, cut, isolate, oneWay, deaf, slowSync, full, wipe, clock, move, drain, trim}

// operated reports whether an operator does it.
func (k kind) operated() bool { return k == move || k == drain || k == trim }

func kindNames() (names []string) {
	for _, k := range kinds {
		names = append(names, string(k))
	}
	return names
}

// A fault is something that goes wrong for a while.
type fault struct {
	At, For time.Duration // since the load began
	Kind    kind
	Node    int           // which node, from 0; that of killLeader is known when it happens
	Other   int           // the second node of killTwo and oneWay
	Shard   int           // of killLeader and move
	Delay   time.Duration // of slowSync
	Step    time.Duration // of clock
}

func (f fault) String() string {
	text := fmt.Sprintf("%7.1fs  for %5.1fs  %-11s", f.At.Seconds(), f.For.Seconds(), f.Kind)
	switch f.Kind {
	case killLeader:
		return text + fmt.Sprintf(" the leader of shard %d", f.Shard)
	case killTwo, oneWay:
		return text + fmt.Sprintf(" n%d, n%d", f.Node, f.Other)
	case move:
		return text + fmt.Sprintf(" shard %d", f.Shard)
	case trim:
		return text
	case slowSync:
		return text + fmt.Sprintf(" n%d, %v", f.Node, f.Delay)
	case clock:
		return text + fmt.Sprintf(" n%d, %v", f.Node, f.Step)
	}
	return text + fmt.Sprintf(" n%d", f.Node)
}

const (
	firstFault = 10 * time.Second // after the load began
	calm       = 15 * time.Second // at the end
)

// schedule returns the faults of a run. They follow from the settings alone.
func schedule(s *settings) (faults []fault) {
	rng := rand.New(rand.NewPCG(s.seed, 1))
	from := s.only
	if len(from) == 0 {
		from = kinds
	}
	if s.replicas == s.nodes { // there is nowhere to drain to
		from = slices.DeleteFunc(slices.Clone(from), func(k kind) bool { return k == drain })
	}
	var bag []kind // all kinds are as frequent
	for at := firstFault; ; {
		if len(bag) == 0 {
			bag = append(bag, from...)
			rng.Shuffle(len(bag), func(i, j int) { bag[i], bag[j] = bag[j], bag[i] })
		}
		f := fault{
			At: at, For: seconds(rng, 2, 15), Kind: bag[0],
			Node: rng.IntN(s.nodes), Shard: rng.IntN(s.shards),
			Delay: time.Duration(20+rng.IntN(400)) * time.Millisecond,
			Step:  time.Duration(rng.IntN(4*3600)-2*3600) * time.Second,
		}
		if n := len(faults); n > 0 && f.Node == faults[n-1].Node && at < faults[n-1].At+faults[n-1].For {
			f.Node = (f.Node + 1) % s.nodes // two faults at a time are of two nodes
		}
		f.Other = (f.Node + 1 + rng.IntN(s.nodes-1)) % s.nodes
		bag = bag[1:]
		if f.At+f.For > s.time-calm {
			return faults
		}
		faults = append(faults, f)
		if at += f.For + seconds(rng, 4, 12); rng.IntN(5) == 0 { // the next one begins before this one ends
			at = f.At + f.For/2
		}
	}
}

func seconds(rng *rand.Rand, least, most float64) time.Duration {
	return time.Duration((least + rng.Float64()*(most-least)) * float64(time.Second)).Round(100 * time.Millisecond)
}
