package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/riffle-search/riffle"
	"github.com/riffle-search/riffle/cluster/oplog"
	"github.com/riffle-search/riffle/cluster/topology"
)

// A checker checks the history of a run against the logs of the shards.
type checker struct {
	report *report
	shards int
	seed   uint64
	ops    []operation

	logs  [][]entry            // of each shard, from entry 1 on
	lines map[string][]version // of each document: its changes in the order of the log
	tags  map[string]string    // of values
}

// An entry is one of a log.
type entry struct {
	changes [][]byte // encoded
	sum     uint64   // checksum of the message
	are     []change
}

// A change is what a write does to a document: Value is empty if it deletes it.
type change struct{ id, value string }

// A version is what a document is from an entry on, until that of the next version.
type version struct {
	sequence uint64
	value    string // empty: there is no document
}

// encode returns the form of a change in a log.
func encode(x change) ([]byte, error) {
	var b riffle.Batch
	if x.value == "" {
		b.Delete(x.id)
	} else {
		b.Put(x.id, document(x.value))
	}
	all, err := b.Encode()
	if err != nil {
		return nil, err
	}
	return all[0].Data, nil
}

// readLogs finds out which writes the entries of the logs come from.
func (c *checker) readLogs(logs [][]oplog.Entry) error {
	written := map[string]change{}
	for i := range c.ops {
		if op := &c.ops[i]; op.Action == put || op.Action == remove {
			x := change{op.ID, op.Value}
			data, err := encode(x)
			if err != nil {
				return err
			}
			written[string(data)] = x
		}
	}
	c.logs, c.lines, c.tags = make([][]entry, len(logs)), map[string][]version{}, map[string]string{}
	for i := range logs {
		for n, from := range logs[i] {
			sequence := uint64(n + 1)
			r, err := oplog.Parse(from.Data)
			if err != nil || from.Sequence != sequence {
				c.report.fail("log", "shard %d: entry %d is where %d belongs: %v", i, from.Sequence, sequence, err)
				return nil
			}
			e := entry{sum: oplog.Checksum(from.Data)}
			for data, err := range oplog.EachChange(r.Body) {
				x, known := written[string(data)]
				if err != nil || !known {
					c.report.fail("log", "shard %d, entry %d has a change that nobody wrote: %x: %v", i, sequence, data, err)
					continue
				}
				if topology.ShardOf(x.id, c.shards) != i {
					c.report.fail("log", "shard %d, entry %d has a change of %s, which belongs to another shard", i, sequence, x.id)
				}
				e.changes, e.are = append(e.changes, bytes.Clone(data)), append(e.are, x)
				c.lines[x.id] = append(c.lines[x.id], version{sequence, x.value})
				c.report.changes++
			}
			c.logs[i] = append(c.logs[i], e)
			c.report.entries++
		}
	}
	return nil
}

// checkWrites compares what writers were told with the logs: what is done is in the entry that they
// were told, what was refused is in none, and what is unknown is in one at most.
func (c *checker) checkWrites() {
	times := map[change]int{} // that the logs have a put
	for id, line := range c.lines {
		for _, v := range line {
			times[change{id, v.value}]++
		}
	}
	for i := range c.ops {
		op := &c.ops[i]
		if op.Action != put && op.Action != remove {
			continue
		}
		x := change{op.ID, op.Value}
		shard := topology.ShardOf(op.ID, c.shards)
		switch n := times[x]; {
		case op.Action == put && n > 1:
			c.report.fail("log", "the log has a change %d times: %+v", n, *op)
		case op.Outcome == refused && op.Action == put && n > 0:
			c.report.fail("log", "a change that was refused is in the log: %+v", *op)
		case op.Outcome != done:
		case op.Sequence == 0 || op.Sequence > uint64(len(c.logs[shard])):
			c.report.fail("log", "a change that is done has no entry in a log of %d: %+v", len(c.logs[shard]), *op)
		case !slices.Contains(c.logs[shard][op.Sequence-1].are, x):
			c.report.fail("log", "the entry of a change does not have it: %+v", *op)
		}
	}
}

// last returns what the log makes of a document.
func (c *checker) last(id string) string {
	line := c.lines[id]
	if len(line) == 0 {
		return ""
	}
	return line[len(line)-1].value
}

// checkFinal compares the reads after the load with the logs: every document has its last value.
func (c *checker) checkFinal() {
	final := map[string]string{} // of two reads, the second one
	for i := range c.ops {
		if op := &c.ops[i]; op.Client == finalClient && op.Outcome == done {
			final[op.ID] = op.Value
		}
	}
	for id, value := range final {
		if value != c.last(id) {
			c.report.fail("last values", "%s is %q, by the log %q", id, value, c.last(id))
		}
	}
	if len(final) < ids {
		c.report.fail("last values", "%d of %d documents were read", len(final), ids)
	}
}

// checkSessions checks reads with tokens: what they see is the state of the shard after an entry that
// is not before that of the token.
func (c *checker) checkSessions() {
	for i := range c.ops {
		op := &c.ops[i]
		if op.AtLeast == nil || op.Outcome != done {
			continue
		}
		switch {
		case op.Action == getToken:
			c.report.sessions++
			if !c.wasAt(op.ID, op.Value, op.AtLeast[op.Shard]) {
				c.report.fail("sessions", "%+v is not what the document was at any entry from %d on: %+v", *op, op.AtLeast[op.Shard], c.lines[op.ID])
			}
		case op.Action == searchToken && op.Error == "":
			c.report.sessions++
			for shard := range c.shards {
				if !c.foundAt(op, shard) {
					c.report.fail("sessions", "shard %d: this is the answer at no entry from %d on: %+v", shard, op.AtLeast[shard], *op)
				}
			}
		}
	}
}

// wasAt reports whether a document had a value at an entry or later.
func (c *checker) wasAt(id, value string, entry uint64) bool {
	line := c.lines[id]
	if value == "" && (len(line) == 0 || line[0].sequence > entry) {
		return true
	}
	for i := range line {
		if line[i].value == value && (i == len(line)-1 || line[i+1].sequence > entry) {
			return true
		}
	}
	return false
}

// foundAt reports whether what a search for a tag found in a shard is what there was after one entry,
// the search's token or a later one.
func (c *checker) foundAt(op *operation, shard int) bool {
	got := map[string]string{}
	for _, f := range op.Found {
		if f.Shard == shard {
			got[f.ID] = f.Value
		}
	}
	from := op.AtLeast[shard]
	now := map[string]string{} // the answer after the entry
	for id, line := range c.lines {
		if topology.ShardOf(id, c.shards) != shard {
			continue
		}
		n, _ := slices.BinarySearchFunc(line, from+1, func(v version, s uint64) int { return int(int64(v.sequence) - int64(s)) })
		if n > 0 && c.tagged(line[n-1].value, op.Tag) {
			now[id] = line[n-1].value
		}
	}
	wrong := 0
	for id := range c.lines {
		if topology.ShardOf(id, c.shards) == shard && now[id] != got[id] {
			wrong++
		}
	}
	for id := range got {
		if c.lines[id] == nil {
			return false
		}
	}
	for at := from; wrong > 0; at++ {
		if at == uint64(len(c.logs[shard])) {
			return false
		}
		for _, x := range c.logs[shard][at].are { // entry at+1
			value := ""
			if c.tagged(x.value, op.Tag) {
				value = x.value
			}
			if now[x.id] != got[x.id] {
				wrong--
			}
			if now[x.id] = value; value != got[x.id] {
				wrong++
			}
		}
	}
	return true
}

func (c *checker) tagged(value, tag string) bool {
	if value == "" {
		return false
	}
	of, known := c.tags[value]
	if !known {
		of, _ = document(value)["tag"].(string)
		c.tags[value] = of
	}
	return of == tag
}

// A step is an operation of a document for porcupine.
type step struct {
	write bool
	value string
}

// register is a document: a write sets its value, and a read returns it.
var register = porcupine.Model{
	Init: func() any { return "" },
	Step: func(state, input, output any) (bool, any) {
		if in := input.(step); in.write {
			return true, in.value
		}
		return output.(string) == state.(string), state
	},
	DescribeOperation: func(input, output any) string {
		if in := input.(step); in.write {
			return fmt.Sprintf("write %q", in.value)
		}
		return fmt.Sprintf("read %q", output)
	},
}

const porcupineTime = 30 * time.Second // for a document

// checkLinearizable checks writes and linearizable gets of each document.
func (c *checker) checkLinearizable(dir string) {
	end := time.Duration(0)
	for i := range c.ops {
		end = max(end, c.ops[i].Return)
	}
	of := map[string][]porcupine.Operation{}
	for i := range c.ops {
		op := &c.ops[i]
		x := porcupine.Operation{ClientId: op.Client + 1, Call: int64(op.Call), Return: int64(op.Return), Output: op.Value}
		switch {
		case (op.Action == put || op.Action == remove) && op.Outcome != refused:
			if x.Input = (step{true, op.Value}); op.Outcome == unknown { // perhaps later
				x.Return = int64(end)
			}
		case op.Action == getLatest && op.Outcome == done:
			x.Input = step{}
		default:
			continue
		}
		of[op.ID] = append(of[op.ID], x)
	}
	for id, ops := range of {
		result, info := porcupine.CheckOperationsVerbose(register, ops, porcupineTime)
		if result == porcupine.Ok {
			continue
		}
		text := fmt.Sprintf("%s: porcupine says %s of %d operations", id, result, len(ops))
		if name := filepath.Join(dir, "porcupine-"+id+".html"); !c.report.found("linearizable") {
			if f, err := os.Create(name); err == nil {
				if err = errors.Join(porcupine.Visualize(register, info, f), f.Close()); err == nil {
					text += ": " + name
				}
			}
		}
		c.report.fail("linearizable", "%s", text)
	}
}

// digest returns the digest of all entries of a log, as package replica defines it.
func digest(log []entry) string {
	var d [16]byte
	for i := range log {
		var b [32]byte
		copy(b[:], d[:])
		binary.LittleEndian.PutUint64(b[16:], uint64(i+1))
		binary.LittleEndian.PutUint64(b[24:], log[i].sum)
		sum := sha256.Sum256(b[:])
		copy(d[:], sum[:])
	}
	return fmt.Sprintf("%x", d)
}

// checkDigests compares the digests of all replicas with those of the logs.
func (c *checker) checkDigests(statuses [][]replicaStatus, planted bool) {
	for i := range c.logs {
		want := digest(c.logs[i])
		if planted && i == 0 {
			want = digest(c.logs[i][:len(c.logs[i])-1])
		}
		for n, all := range statuses {
			for _, s := range all {
				if s.Shard == i && s.Digest != want {
					c.report.fail("digests", "shard %d of n%d at entry %d has digest %s, the log %s", i, n, s.Sequence, s.Digest, want)
				}
			}
		}
	}
}

// checkDocuments compares all documents of a replica with those of the log.
func (c *checker) checkDocuments(ctx context.Context, e *riffle.Engine, name string, shard int) error {
	r, err := e.Search(ctx, riffle.All{}, &riffle.SearchOptions{K: 2 * ids, Load: []string{valueField}})
	if err != nil {
		return err
	}
	got := map[string]string{}
	for i := range r.Hits {
		got[r.Hits[i].ID], _ = r.Hits[i].Fields[valueField].(string)
	}
	want := 0
	for id := range c.lines {
		if topology.ShardOf(id, c.shards) != shard {
			continue
		}
		last := c.last(id)
		if last != "" {
			want++
		}
		if got[id] != last {
			c.report.fail("documents", "%s, shard %d: %s is %q, by the log %q", name, shard, id, got[id], last)
		}
	}
	if len(got) != want {
		c.report.fail("documents", "%s, shard %d has %d documents, by the log %d", name, shard, len(got), want)
	}
	return nil
}

// forgetDocument removes a document of a replica without moving its position, as if it had left out a
// change: a plant.
func (c *checker) forgetDocument(ctx context.Context, e *riffle.Engine, shard int) error {
	position, err := e.Position()
	if err != nil {
		return err
	}
	for id := range c.lines {
		if topology.ShardOf(id, c.shards) == shard && c.last(id) != "" {
			b := riffle.Batch{Position: position}
			b.Delete(id)
			return e.Apply(ctx, &b)
		}
	}
	return errors.New("no document can be forgotten")
}

// feed puts the logs into one index, shard after shard.
func (c *checker) feed(ctx context.Context, one *riffle.Engine) error {
	for i := range c.logs {
		for _, e := range c.logs[i] {
			var b riffle.Batch
			for _, data := range e.changes {
				if err := b.AddEncoded(data); err != nil {
					return err
				}
			}
			if err := one.Apply(ctx, &b); err != nil {
				return err
			}
		}
	}
	return nil
}
