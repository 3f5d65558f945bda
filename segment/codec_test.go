package segment

import (
	"math/rand/v2"
	"testing"

	"github.com/riffle-search/riffle/postings"
)

// TestCodecs merges segments with one codec after the other. For any codec of the inputs,
// everything except the bytes of long lists must be the same.
func TestCodecs(t *testing.T) {
	m := randomModel(rand.New(rand.NewPCG(81, 82)), 3000, "c")
	var from Reader = m.memory().View()
	for _, codec := range []postings.Kind{postings.Packed, postings.PFor, postings.Rice, postings.Interpolative, postings.Packed} {
		d, res, _ := merge(t, []Input{{Reader: from}}, MergeOptions{Codec: codec})
		requireEqual(t, m, d)
		coded := 0
		for _, f := range res.fields {
			terms := must(d.Terms(f.Name, nil))
			for terms.Next() {
				l := must(terms.List())
				for _, e := range l.Enc {
					for _, k := range []postings.Kind{e.Kind(), e.FreqKind()} {
						if k >= postings.PFor && k != codec {
							t.Fatalf("a block is %v in a segment by %v", e, codec)
						}
						if k == codec {
							coded++
						}
					}
				}
			}
			terms.Close()
		}
		if coded < 10 && codec != postings.Interpolative { // which works on chunks, not on blocks
			t.Errorf("only %d blocks are by %v", coded, codec)
		}
		from = d
	}
	if err := (MergeOptions{Codec: postings.Bitset}).withDefaults().validate(); err == nil {
		t.Error("bitset is a codec")
	}
}
