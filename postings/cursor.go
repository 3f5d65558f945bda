package postings

// End is the document of a cursor that has run out.
const End = ^uint32(0)

// A Cursor walks the postings of a list in order:
//
//	var c postings.Cursor
//	c.Reset(list)
//	for d := c.Next(); d != postings.End; d = c.Next() {
//		use(d, c.TF())
//	}
//	return c.Err()
//
// It decodes a block when it enters it, and the block's frequencies at the first call of TF. The
// zero value is at the end of an empty list. A Cursor is about 1 KB: reuse it.
type Cursor struct {
	l     *List
	b     int // current block
	i, n  int // current posting, postings in the block
	doc   uint32
	hasTF bool // tfs are those of the block
	err   error
	docs  [BlockSize]uint32
	tfs   [BlockSize]uint32
}

// Reset positions the cursor before the first posting of a list.
func (c *Cursor) Reset(l *List) {
	c.l, c.b, c.i, c.n, c.doc, c.hasTF, c.err = l, -1, -1, 0, 0, false, nil
}

// Next moves to the next posting and returns its document, or End.
func (c *Cursor) Next() uint32 {
	if c.i+1 < c.n {
		c.i++
		c.doc = c.docs[c.i]
		return c.doc
	}
	if c.l == nil || c.b >= c.l.Blocks() || !c.enter(c.b+1) {
		return End
	}
	c.doc = c.docs[0]
	return c.doc
}

// SeekGE moves to the first posting, at or after the current one, whose document is doc or later.
// It returns its document, or End. It never moves back.
func (c *Cursor) SeekGE(doc uint32) uint32 {
	if c.l == nil || c.b >= c.l.Blocks() {
		return End
	}
	if c.b < 0 || c.l.Last[c.b] < doc {
		if !c.enter(c.l.Seek(c.b+1, doc)) {
			return End
		}
	}
	if c.docs[c.i] < doc {
		c.i = SeekBlock(&c.docs, c.n, doc)
	}
	c.doc = c.docs[c.i]
	return c.doc
}

// TF returns the current term frequency. It returns 0 when there is no current posting, or when the
// block cannot be read (see Err).
func (c *Cursor) TF() uint32 {
	if c.n == 0 {
		return 0
	}
	if !c.hasTF {
		if _, err := c.l.Freqs(c.b, &c.tfs); err != nil {
			c.fail(err)
			return 0
		}
		c.hasTF = true
	}
	return c.tfs[c.i]
}

// Err returns the error that ended the walk early, or nil.
func (c *Cursor) Err() error { return c.err }

// enter decodes block b and moves to its first posting. It returns false at the end of the list.
func (c *Cursor) enter(b int) bool {
	c.b, c.i, c.n, c.hasTF = b, 0, 0, false
	if b >= c.l.Blocks() {
		c.doc = End
		return false
	}
	n, err := c.l.Docs(b, &c.docs)
	if err != nil {
		c.fail(err)
		return false
	}
	c.n = n
	return true
}

func (c *Cursor) fail(err error) {
	c.err, c.doc = err, End
	c.b, c.i, c.n = c.l.Blocks(), 0, 0
}
