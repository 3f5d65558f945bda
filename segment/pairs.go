package segment

import (
	"encoding/binary"
	"math"
	"slices"
	"strings"

	"github.com/riffle-search/riffle/internal/corrupt"
)

// pairsFeature is the feature of a segment that has lists of pairs of words: for a field, and some
// frequent words of it, a list for each two of these words, of the documents in which the second
// directly follows the first. A phrase of such words is then a list like any other (package plan). The
// data of the feature are, for each field that has such lists, ascending:
//
//	fields  varint  between it and the previous one
//	words   text    the words, ascending, with a zero byte between them
//
// The lists are those of another field, PairField. Their terms are the two words with a zero byte
// between them, and their frequencies count the positions at which the first word stands. They have no
// positions. That field has no length codes of its own, since they are those of the first field.
//
// The words hold for all documents of the segment, also if none of them has a pair. So a merge drops
// the lists where its inputs differ in them.
const pairsFeature = "lists of pairs of words"

// pairMark begins the names of fields of pairs. No other field has such a name: it is not UTF-8.
const pairMark = "\xff\x00pairs\x00"

// PairField returns the name of the field that has the pairs of a field's words.
func PairField(field string) string { return pairMark + field }

// IsPairField reports whether a name is that of a field of pairs.
func IsPairField(name string) bool { return strings.HasPrefix(name, pairMark) }

// FieldOfPairs returns the field whose words a field of pairs has, or the name of any other field.
func FieldOfPairs(name string) string { return strings.TrimPrefix(name, pairMark) }

// PairTerm appends the term of a pair of words.
func PairTerm(dst []byte, first, second string) []byte {
	dst = append(dst, first...)
	dst = append(dst, 0)
	return append(dst, second...)
}

// JoinPairWords returns the words as FieldInfo.Pairs has them. They may not contain a zero byte.
func JoinPairWords(words []string) string {
	words = slices.Clone(words)
	slices.Sort(words)
	return strings.Join(slices.Compact(words), "\x00")
}

// PairWords returns the words of which the segment has pairs, ascending.
func (f FieldInfo) PairWords() []string {
	if f.Pairs == "" {
		return nil
	}
	return strings.Split(f.Pairs, "\x00")
}

// keepsNorms reports whether a segment keeps the lengths of the field, as those of the field itself.
func (f FieldInfo) keepsNorms() bool { return f.Norms && !IsPairField(f.Name) }

// isPair reports whether a term is a pair of the given words, ascending.
func isPair(term []byte, words []string) bool {
	first, second, ok := strings.Cut(string(term), "\x00")
	if !ok {
		return false
	}
	_, one := slices.BinarySearch(words, first)
	_, two := slices.BinarySearch(words, second)
	return one && two
}

// Pairs says of which words the current field has pairs, as FieldInfo.Pairs does; it is the same for
// all documents of the chunk. The pairs are those of PairField.
func (c *Chunk) Pairs(words string) { c.cur.pairs = words }

// agreedPairs returns of which words all inputs have the pairs of a field.
func (m *merger) agreedPairs(field string) string {
	words, some := "", false
	for _, in := range m.inputs {
		f, ok := in.Reader.Field(field)
		switch {
		case !ok:
		case !some:
			words, some = f.Pairs, true
		case f.Pairs != words:
			return ""
		}
	}
	return words
}

// withoutPairs drops the fields of pairs from a list sorted by name.
func withoutPairs(fields []FieldInfo) []FieldInfo {
	if !slices.ContainsFunc(fields, func(f FieldInfo) bool { return IsPairField(f.Name) }) {
		return fields
	}
	return slices.DeleteFunc(slices.Clone(fields), func(f FieldInfo) bool { return IsPairField(f.Name) })
}

// pairFeature appends the feature if some fields have pairs.
func pairFeature(features []feature, fields []FieldInfo) []feature {
	var data []byte
	next := 0
	for i, f := range fields {
		if f.Pairs != "" {
			data = appendText(binary.AppendUvarint(data, uint64(i-next)), f.Pairs)
			next = i + 1
		}
	}
	if data == nil {
		return features
	}
	return append(features, feature{name: pairsFeature, required: true, data: data})
}

// openPairs sets FieldInfo.Pairs from the feature, and m.wordsOf.
func (m *meta) openPairs() error {
	for _, f := range m.features {
		if f.name != pairsFeature {
			continue
		}
		d := newDecoder(f.data)
		for next := uint64(0); d.left() > 0 && d.err == nil; next++ {
			next += d.uint("fields between", math.MaxUint32)
			words := string(d.text("words of pairs"))
			if d.err != nil {
				break
			}
			list := strings.Split(words, "\x00")
			if next >= uint64(len(m.fields)) || !m.fields[next].Positions || words == "" || JoinPairWords(list) != words {
				return corrupt.New(-1, "field %d has pairs of %q; it has no positions, or these are no words", next, words)
			}
			m.fields[next].Pairs = words
		}
		if d.err != nil {
			return d.err
		}
	}
	m.wordsOf = make([]int, len(m.fields))
	for i, f := range m.fields {
		m.wordsOf[i] = -1
		if !IsPairField(f.Name) {
			continue
		}
		of, ok := findField(m.fields, FieldOfPairs(f.Name))
		if !ok || m.fields[of].Pairs == "" || !f.Norms || f.Positions || m.sparse[i] || m.whole[i] {
			return corrupt.New(-1, "field %q has pairs of words of another one, which has none, or it has positions", f.Name)
		}
		m.wordsOf[i] = of
	}
	return nil
}
