package analysis

import "golang.org/x/text/unicode/norm"

// NormalForm brings terms into a normal form of Unicode, so that é in one character and in two are
// the same term. NFKC also unifies variants of a letter, such as ﬁ and fi. Fold does more.
type NormalForm struct {
	// Form is norm.NFC, the default, norm.NFD, norm.NFKC or norm.NFKD.
	Form norm.Form
}

// Filter implements Filter.
func (n NormalForm) Filter(batch []Token) []Token {
	for i := range batch {
		if t := &batch[i]; !n.Form.IsNormal(t.Term) {
			t.Term = n.Form.Bytes(t.Term)
		}
	}
	return batch
}
