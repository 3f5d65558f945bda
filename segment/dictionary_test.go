package segment

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
)

// A numbering numbers terms in the order in which they first occur. BenchmarkDictionary compares
// those below; the package uses termTable.
type numbering interface {
	number(term []byte) uint32
	bytes() int64
}

func (t *termTable) number(term []byte) uint32 { return t.slot(term).number - 1 }

// dictionaries are the candidates by name.
var dictionaries = map[string]func() numbering{
	"hash table":      func() numbering { return new(termTable) },
	"trie of B-trees": func() numbering { return newHybrid() },
	"radix tree":      func() numbering { return newRadix() },
	"Go map":          func() numbering { return goMap{} },
}

type goMap map[string]uint32

func (m goMap) number(term []byte) uint32 {
	n, ok := m[string(term)]
	if !ok {
		n = uint32(len(m))
		m[string(term)] = n
	}
	return n
}

func (m goMap) bytes() int64 { return 0 } // not known

// A termArena holds the terms of a dictionary.
type termArena struct {
	ends  []uint32
	arena []byte
}

func (a *termArena) add(term []byte) uint32 {
	a.arena = append(a.arena, term...)
	a.ends = append(a.ends, uint32(len(a.arena)))
	return uint32(len(a.ends) - 1)
}

func (a *termArena) term(n uint32) []byte {
	start := uint32(0)
	if n > 0 {
		start = a.ends[n-1]
	}
	return a.arena[start:a.ends[n]]
}

// hybrid is the dictionary of Wei 2011: a table over the first three letters. Each entry is a
// B-tree with 31 keys per node, which also hold the next four bytes of each term.
type hybrid struct {
	termArena
	roots []uint32 // node plus one, by prefix
	nodes []hybridNode
}

const hybridKeys = 31

type hybridNode struct {
	n      int
	leaf   bool
	caches [hybridKeys]uint32
	terms  [hybridKeys]uint32
	below  [hybridKeys + 1]uint32
}

func newHybrid() *hybrid { return &hybrid{roots: make([]uint32, 26*26*26+256)} }

func (h *hybrid) bytes() int64 {
	return int64(4*cap(h.roots)+4*cap(h.ends)+cap(h.arena)) + int64(cap(h.nodes))*(4*(3*hybridKeys+1)+16)
}

// collection returns the tree of a term, and how many bytes all terms of that tree share.
func collection(term []byte) (tree, skip int) {
	if len(term) >= 3 {
		a, b, c := term[0]-'a', term[1]-'a', term[2]-'a'
		if a < 26 && b < 26 && c < 26 {
			return (int(a)*26+int(b))*26 + int(c), 3
		}
	}
	if len(term) > 0 {
		return 26*26*26 + int(term[0]), 0
	}
	return 26 * 26 * 26, 0
}

func cacheOf(rest []byte) uint32 {
	var b [4]byte
	copy(b[:], rest)
	return binary.BigEndian.Uint32(b[:])
}

func (h *hybrid) number(term []byte) uint32 {
	tree, skip := collection(term)
	if h.roots[tree] == 0 {
		h.nodes = append(h.nodes, hybridNode{leaf: true})
		h.roots[tree] = uint32(len(h.nodes))
	}
	root := h.roots[tree] - 1
	if h.nodes[root].n == hybridKeys {
		h.nodes = append(h.nodes, hybridNode{})
		top := uint32(len(h.nodes) - 1)
		h.nodes[top].below[0] = root
		h.split(top, 0)
		h.roots[tree], root = top+1, top
	}
	cache := cacheOf(term[skip:])
	for at := root; ; {
		n := &h.nodes[at]
		i := 0
		for i < n.n && n.caches[i] < cache {
			i++
		}
		for ; i < n.n && n.caches[i] == cache; i++ {
			if c := bytes.Compare(h.term(n.terms[i]), term); c == 0 {
				return n.terms[i]
			} else if c > 0 {
				break
			}
		}
		if n.leaf {
			copy(n.caches[i+1:n.n+1], n.caches[i:n.n])
			copy(n.terms[i+1:n.n+1], n.terms[i:n.n])
			n.n++
			n.caches[i], n.terms[i] = cache, h.add(term)
			return n.terms[i]
		}
		if h.nodes[n.below[i]].n == hybridKeys {
			h.split(at, i)
			continue // the key that moved up may be the one
		}
		at = n.below[i]
	}
}

// split divides the full child i of a node that is not full.
func (h *hybrid) split(at uint32, i int) {
	h.nodes = append(h.nodes, hybridNode{})
	right := uint32(len(h.nodes) - 1)
	n, r := &h.nodes[at], &h.nodes[right]
	l := &h.nodes[n.below[i]]
	const mid = hybridKeys / 2
	r.leaf, r.n = l.leaf, copy(r.caches[:], l.caches[mid+1:])
	copy(r.terms[:], l.terms[mid+1:])
	copy(r.below[:], l.below[mid+1:])
	l.n = mid
	copy(n.caches[i+1:n.n+1], n.caches[i:n.n])
	copy(n.terms[i+1:n.n+1], n.terms[i:n.n])
	copy(n.below[i+2:n.n+2], n.below[i+1:n.n+1])
	n.caches[i], n.terms[i], n.below[i+1] = l.caches[mid], l.terms[mid], right
	n.n++
}

// radix is a compressed radix tree. A node has up to eight children in a list, or a table of 256.
type radix struct {
	termArena
	nodes  []radixNode
	tables [][256]uint32
}

type radixNode struct {
	term     uint32 // plus one; 0 for none
	via      uint32 // a term whose bytes from..to are this node's label
	from, to uint16
	n        uint8
	bytes    [8]byte
	below    [8]uint32 // nodes
	table    uint32    // plus one
}

func newRadix() *radix { return &radix{nodes: make([]radixNode, 1)} }

func (r *radix) bytes() int64 {
	return int64(4*cap(r.ends)+cap(r.arena)) + 60*int64(cap(r.nodes)) + 1024*int64(cap(r.tables))
}

func (r *radix) number(term []byte) uint32 {
	for at, depth := uint32(0), 0; ; {
		n := &r.nodes[at]
		label := r.label(n)
		same := 0
		for same < len(label) && depth+same < len(term) && label[same] == term[depth+same] {
			same++
		}
		if depth += same; same < len(label) {
			r.cut(at, same)
			n = &r.nodes[at]
		}
		if depth == len(term) {
			if n.term == 0 {
				n.term = r.add(term) + 1
			}
			return n.term - 1
		}
		next, ok := r.child(n, term[depth])
		if !ok {
			number := r.add(term)
			r.nodes = append(r.nodes, radixNode{term: number + 1, via: number, from: uint16(depth), to: uint16(len(term))})
			r.hang(at, term[depth], uint32(len(r.nodes)-1))
			return number
		}
		at = next
	}
}

func (r *radix) label(n *radixNode) []byte {
	if n.to == 0 {
		return nil
	}
	return r.term(n.via)[n.from:n.to]
}

func (r *radix) child(n *radixNode, b byte) (uint32, bool) {
	if n.table > 0 {
		at := r.tables[n.table-1][b]
		return at, at > 0
	}
	for i := range n.n {
		if n.bytes[i] == b {
			return n.below[i], true
		}
	}
	return 0, false
}

// cut leaves a node the first bytes of its label and moves the others to a child.
func (r *radix) cut(at uint32, keep int) {
	lower := r.nodes[at]
	lower.from += uint16(keep)
	r.nodes = append(r.nodes, lower)
	n := &r.nodes[at]
	*n = radixNode{via: lower.via, from: n.from, to: lower.from}
	r.hang(at, r.label(&lower)[0], uint32(len(r.nodes)-1))
}

func (r *radix) hang(at uint32, b byte, child uint32) {
	n := &r.nodes[at]
	if n.table == 0 && int(n.n) < len(n.below) {
		n.bytes[n.n], n.below[n.n] = b, child
		n.n++
		return
	}
	if n.table == 0 {
		r.tables = append(r.tables, [256]uint32{})
		n.table = uint32(len(r.tables))
		for i := range n.n {
			r.tables[n.table-1][n.bytes[i]] = n.below[i]
		}
	}
	r.tables[n.table-1][b] = child
}

// TestDictionaries checks that all dictionaries number terms alike, so that the benchmark measures
// the same work.
func TestDictionaries(t *testing.T) {
	rng := rand.New(rand.NewPCG(21, 21))
	all := map[string]numbering{}
	for name, newDictionary := range dictionaries {
		all[name] = newDictionary()
	}
	for i := range 60_000 {
		term := make([]byte, rng.IntN(12))
		for i := range term {
			term[i] = "abcdeg\x00\xff1"[min(rng.IntN(9), rng.IntN(9))]
		}
		want := all["Go map"].number(term)
		for name, d := range all {
			if got := d.number(term); got != want {
				t.Fatalf("%s: term %d, %q, has number %d, want %d", name, i, term, got, want)
			}
		}
	}
}

// corpusWords returns the words of the first passages of gutenberg-a, lower-cased.
func corpusWords(b *testing.B, n int) [][]byte {
	dir := os.Getenv("RIFFLE_CORPORA")
	if dir == "" {
		dir = filepath.Join("..", "..", "shared", "corpora")
	}
	cmd := exec.Command("zstd", "-dcq", "--long=27", filepath.Join(dir, "gutenberg-a.jsonl.zst"))
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		b.Skipf("no corpora, or no zstd: set RIFFLE_CORPORA (%v)", err)
	}
	text := make([]byte, n)
	if _, err := out.Read(text[:1]); err != nil {
		b.Skipf("no corpora: set RIFFLE_CORPORA (%v)", err)
	}
	for at := 1; at < n; {
		k, err := out.Read(text[at:])
		if err != nil {
			b.Fatal(err)
		}
		at += k
	}
	cmd.Process.Kill()
	cmd.Wait()
	return bytes.FieldsFunc(bytes.ToLower(text), func(r rune) bool { return r < 'a' || r > 'z' })
}

// BenchmarkDictionary measures a dictionary on English words in their original order: within blocks
// of 1 MB, for each of which a parser starts anew; and on the distinct words of one block after the
// other, which indexers look up in the dictionary of the whole collection.
func BenchmarkDictionary(b *testing.B) {
	words := corpusWords(b, 40<<20)
	blocks := slices.Collect(slices.Chunk(words, len(words)/40))
	var distinct [][]byte
	for _, block := range blocks {
		seen := make(map[string]bool)
		for _, w := range block {
			if !seen[string(w)] {
				seen[string(w)] = true
				distinct = append(distinct, w)
			}
		}
	}
	for _, name := range []string{"hash table", "trie of B-trees", "radix tree", "Go map"} {
		b.Run(fmt.Sprintf("dictionary=%s/of=block", name), func(b *testing.B) {
			n := 0
			for b.Loop() {
				d := dictionaries[name]()
				for _, w := range blocks[n%len(blocks)] {
					d.number(w)
				}
				n++
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(n*len(blocks[0])), "ns/word")
		})
		b.Run(fmt.Sprintf("dictionary=%s/of=all", name), func(b *testing.B) {
			var d numbering
			n := 0
			for b.Loop() {
				d = dictionaries[name]()
				for _, w := range distinct {
					d.number(w)
				}
				n++
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(n*len(distinct)), "ns/term")
			b.ReportMetric(float64(d.bytes())/float64(1+d.number([]byte("zzzzzzzzzzzzzzz"))), "bytes/term")
		})
	}
}
