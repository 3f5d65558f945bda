package dictionary

// MakeGrams makes the trigram indexes of all pages.
func (d *Dictionary) MakeGrams() {
	budget := new(GramBudget)
	budget.Limit(1 << 40)
	d.IndexGrams(budget)
	for _, p := range d.pages {
		if p.indexing.CompareAndSwap(false, true) {
			d.grams.keep(p, p.gramIndex())
		}
	}
}

// Compared returns the number of terms that Find compares with the word.
func (f *Fuzzy) Compared(d *Dictionary) (n int) {
	from, to := 0, d.Len()
	if len(f.prefix) > 0 {
		from, to = d.Prefix(f.prefix)
	}
	d.spans(from, to, func(p *page, from, to int) bool {
		return f.candidates(p, from, to, func(int) bool { n++; return true })
	})
	return n
}
