package segment

// writeStored writes the stored documents, or nothing when all are empty. This goroutine reads
// them, and others compress and write them, unless they are few.
func (m *merger) writeStored() (err error) {
	encoder, err := m.sampleStored()
	if err != nil {
		return err
	}
	m.coded = encoder != nil
	p := storedPacker{m: m, out: newStoredTables(m.ctx, m.sink.sink, m.opts.Workers, m.opts.TableBytes), pace: pace{cores: m.opts.Cores}}
	p.out.cores, p.out.encoder = m.opts.Cores, encoder
	err = m.eachStored(p.add)
	if err == nil {
		err = p.flush()
	}
	if err == nil {
		err = p.out.end()
	}
	if closed := p.out.close(); err == nil {
		err = closed
	}
	m.sink.bytes += p.out.bytes.Load()
	return err
}

// A storedPacker packs the stored documents of a merge into blocks and batches of blocks.
type storedPacker struct {
	m     *merger
	out   *storedTables
	block storedWriter
	batch *storedBatch // nil before the first block
	pace  pace
}

func (p *storedPacker) add(doc int, data []byte) (err error) {
	if len(data) > 0 && !p.m.stored {
		p.m.stored = true
		rest := doc % storedBlockDocs // the rest share a block with this document
		if err := p.out.addEmpty(0, uint32(doc-rest)); err != nil {
			return err
		}
		p.block.lengths = make([]int, rest)
	}
	if !p.m.stored {
		return nil
	}
	p.block.add(data)
	p.pace.add(paceTerm + len(data)/paceBytes)
	if !p.block.full() && doc != int(p.m.docs)-1 {
		return nil
	}
	if p.batch == nil {
		if p.batch, err = p.out.batch(); err != nil {
			return err
		}
	}
	p.batch.pack(&p.block, uint32(doc))
	if !p.out.fills(p.batch) {
		return nil
	}
	full := p.batch
	p.batch = nil
	return p.out.add(full)
}

// flush writes the last batch. If no table has begun, it goes to the sink itself.
func (p *storedPacker) flush() error {
	if p.batch == nil {
		return nil
	}
	if p.out.queue == nil && p.out.encoder == nil {
		return p.out.addHere(p.batch)
	}
	return p.out.add(p.batch)
}
