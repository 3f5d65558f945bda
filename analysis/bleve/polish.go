package bleve

import (
	"bytes"
	"cmp"
	"compress/gzip"
	_ "embed"
	"encoding/binary"
	"io"
	"slices"
	"sync"
)

// polishTable is the table of the stemmer Stempel (A. Białecki; Apache License 2.0) that bleve and
// Lucene use, trained on 20,000 words.
//
//go:embed polish.tbl.gz
var polishTable []byte

// A stempelTrie maps the end of a word, read backwards, to a command that makes its stem.
type stempelTrie struct {
	forward  bool
	root     int32
	commands [][]rune
	rows     []int32 // where the edges of each row begin, and where the last ones end
	edges    []stempelEdge
}

// A stempelEdge leads from a row by a letter to the next row, or -1, and has a command, or -1.
type stempelEdge struct {
	letter       rune
	command, row int32
}

// edge returns the edge of a row by a letter.
func (t *stempelTrie) edge(row int32, letter rune) (e stempelEdge, ok bool) {
	edges := t.edges[t.rows[row]:t.rows[row+1]]
	i, ok := slices.BinarySearchFunc(edges, letter, func(e stempelEdge, letter rune) int { return cmp.Compare(e.letter, letter) })
	if ok {
		e = edges[i]
	}
	return e, ok
}

// polishTries are consulted one after the other: each command ends where the next one begins.
var polishTries = sync.OnceValue(func() []stempelTrie {
	z, err := gzip.NewReader(bytes.NewReader(polishTable))
	var table []byte
	if err == nil {
		table, err = io.ReadAll(z)
	}
	if err != nil {
		panic("BUG: bleve: the table of Polish: " + err.Error())
	}
	r := stempelReader(table)
	if method := r.text(); !bytes.Contains([]byte(string(method)), []byte("M")) {
		panic("BUG: bleve: the table of Polish is not a multi-trie")
	}
	if forward := r.bool(); forward {
		panic("BUG: bleve: the table of Polish reads forward")
	}
	r.number()
	tries := make([]stempelTrie, r.number())
	for i := range tries {
		tries[i] = r.trie()
	}
	return tries
})

// A stempelReader is the rest of a table, in the format of Java's DataOutput.
type stempelReader []byte

func (r *stempelReader) take(n int) []byte {
	b := (*r)[:n]
	*r = (*r)[n:]
	return b
}

func (r *stempelReader) bool() bool    { return r.take(1)[0] != 0 }
func (r *stempelReader) number() int32 { return int32(binary.BigEndian.Uint32(r.take(4))) }
func (r *stempelReader) short() int    { return int(binary.BigEndian.Uint16(r.take(2))) }
func (r *stempelReader) text() []rune  { return []rune(string(r.take(r.short()))) }

func (r *stempelReader) trie() (t stempelTrie) {
	t.forward, t.root = r.bool(), r.number()
	t.commands = make([][]rune, r.number())
	for i := range t.commands {
		t.commands[i] = r.text()
	}
	rows := r.number()
	t.rows = make([]int32, 0, rows+1)
	for range rows {
		first := len(t.edges)
		t.rows = append(t.rows, int32(first))
		for range r.number() {
			e := stempelEdge{letter: rune(r.short()), command: r.number()}
			r.number() // how many words it stands for
			e.row = r.number()
			r.number() // how many letters it skips; unused
			t.edges = append(t.edges, e)
		}
		slices.SortFunc(t.edges[first:], func(a, b stempelEdge) int { return cmp.Compare(a.letter, b.letter) })
	}
	t.rows = append(t.rows, int32(len(t.edges)))
	return t
}

// command returns the last command on the path of a word.
func (t *stempelTrie) command(word []rune) (last []rune) {
	row := t.root
	for i := range word {
		at := len(word) - 1 - i
		if t.forward {
			at = i
		}
		e, ok := t.edge(row, word[at])
		if !ok {
			return last
		}
		if e.command >= 0 {
			last = t.commands[e.command]
		}
		if e.row < 0 {
			return last
		}
		row = e.row
	}
	return last
}

// stemPolish stems a word by the commands of all tries, each a letter and a parameter.
func stemPolish(word []rune) []rune {
	var all, before []rune
	rest, key := word, word
	for _, t := range polishTries() {
		c := t.command(key)
		if len(c) < 2 || before != nil && !mayFollow(before[len(before)-2], c[0]) {
			break
		}
		if c[0] == '-' {
			skipped := commandLength(c)
			if before != nil {
				skipped += commandLength(before)
			}
			if skipped > len(rest) {
				break
			}
			rest = without(rest, skipped)
		}
		all, before = append(all, c...), c
		if len(rest) > 0 {
			key = rest
		}
	}
	return edit(word, all)
}

// mayFollow reports whether a command may begin with an operation after one that ended with another.
// Skips and deletions do not follow others of their kind only: the table was built that way.
func mayFollow(after, goes rune) bool {
	return after != '-' && after != 'D' || after != goes
}

// commandLength returns how many letters of a word a command reads.
func commandLength(command []rune) (n int) {
	for i := 0; i+1 < len(command); i += 2 {
		switch command[i] {
		case '-', 'D':
			n += int(command[i+1] - 'a' + 1)
		case 'R':
			n++
		}
	}
	return n
}

// edit carries out operations from the end of a word: skip or delete some letters, replace or insert
// one.
func edit(word, operations []rune) []rune {
	at := len(word) - 1
	if at < 0 {
		return word
	}
	for i := 0; i+1 < len(operations); i += 2 {
		argument := operations[i+1]
		n := int(argument - 'a' + 1)
		switch operations[i] {
		case '-':
			at -= n - 1
		case 'R':
			if at < 0 || at >= len(word) {
				return word
			}
			word[at] = argument
		case 'D':
			behind := at + 1
			if at -= n - 1; at < 0 || at >= len(word) || behind > len(word) {
				return word
			}
			word = append(word[:at], word[behind:]...)
		case 'I':
			if at++; at < 0 || at > len(word) {
				return word
			}
			word = append(word, 0)
			copy(word[at+1:], word[at:])
			word[at] = argument
		}
		at--
	}
	return word
}
