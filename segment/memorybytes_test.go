package segment

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"testing"
	"time"

	"github.com/riffle-search/riffle/columns"
)

// heapGrowth is how much the result of f makes the heap grow. It collects garbage, which other
// tests leave, until two measurements agree.
func heapGrowth[T any](f func() T) (made T, bytes int64) {
	settled := func() uint64 {
		var before, after runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&after)
		for range 10 {
			before = after
			runtime.GC()
			runtime.ReadMemStats(&after)
			if after.HeapAlloc == before.HeapAlloc {
				break
			}
		}
		return after.HeapAlloc
	}
	before := settled()
	made = f()
	bytes = int64(settled()) - int64(before)
	runtime.KeepAlive(made)
	return made, bytes
}

// addSomeValues adds a number, sometimes another kind of it, keywords and a date.
func addSomeValues(c *Chunk, i int) {
	c.Value("n", columns.OfInt(int64(i*7919%100_000)))
	if i%1000 == 7 {
		c.Value("mixed", columns.OfFloat(float64(i)+0.5))
	} else {
		c.Value("mixed", columns.OfInt(int64(i)))
	}
	c.Value("key", columns.OfString(fmt.Sprint("some keyword ", i*31%9000)))
	if i%3 == 0 {
		c.Value("key", columns.OfString("often"))
	}
	c.Value("day", columns.OfTime(time.Unix(int64(1e9+i*61), 0)))
}

// TestMemoryIsCountedAsItIs compares Memory.Bytes with the growth of the heap, for documents of
// several shapes. They must agree within a tenth.
func TestMemoryIsCountedAsItIs(t *testing.T) {
	if testing.Short() {
		t.Skip("the heap of a program under the race detector is another one")
	}
	zipf := rand.NewZipf(rand.New(rand.NewPCG(1, 9)), 1.1, 10, 200_000)
	words := func(c *Chunk, n int, word func() string) {
		for range n {
			c.Add([]byte(word()))
		}
	}
	text := func() string { return fmt.Sprint("w", zipf.Uint64()) }
	unique := 0
	for _, shape := range []struct {
		name string
		docs int
		add  func(c *Chunk, i int)
	}{
		{"one big text field", 6_000, func(c *Chunk, i int) {
			c.Field("text", false)
			words(c, 200, text)
			c.EndField(true, 200)
		}},
		{"many small documents", 60_000, func(c *Chunk, i int) {
			c.Field("title", false)
			words(c, 3, text)
			c.EndField(true, 3)
		}},
		{"one field per document", 15_000, func(c *Chunk, i int) {
			c.Field(fmt.Sprint("user", i), false)
			words(c, 4, text)
			c.EndField(true, 4)
		}},
		{"very many terms", 4_000, func(c *Chunk, i int) {
			c.Field("key", false)
			words(c, 40, func() string { unique++; return fmt.Sprintf("%09x", unique*2654435761%(1<<36)) })
			c.EndField(false, 40)
		}},
		{"few ids, put often", 60_000, func(c *Chunk, i int) {}},
		{"stored documents", 10_000, func(c *Chunk, i int) {}},
		{"values", 60_000, func(c *Chunk, i int) { addSomeValues(c, i) }},
		{"values that were read", 60_000, func(c *Chunk, i int) { addSomeValues(c, i) }},
	} {
		t.Run(shape.name, func(t *testing.T) {
			m, grown := heapGrowth(func() *Memory {
				m := NewMemory()
				for i := 0; i < shape.docs; {
					var c Chunk
					for range 100 {
						id, stored := fmt.Sprint("doc", i), []byte(nil)
						switch shape.name {
						case "few ids, put often":
							id = fmt.Sprint(i % 500)
						case "stored documents":
							stored = make([]byte, 500)
						}
						c.Begin(id)
						shape.add(&c, i)
						c.End(0, stored)
						i++
					}
					c.Group(OnePartition())
					m.AddChunk(&c)
				}
				if shape.name == "values that were read" {
					for _, name := range m.View().Columns() {
						if _, err := m.View().Column(name); err != nil {
							t.Fatal(err)
						}
					}
				}
				m.chunk = runReaderSpace{}
				return m
			})
			counted := m.Bytes()
			ratio := float64(grown) / float64(counted)
			t.Logf("counted %d KB, heap %d KB: %.3f", counted>>10, grown>>10, ratio)
			if ratio < 0.9 || ratio > 1.1 {
				t.Errorf("the heap has grown by %d bytes, %d are counted", grown, counted)
			}
		})
	}
}
