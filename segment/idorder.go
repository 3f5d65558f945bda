package segment

import "github.com/riffle-search/riffle/blockmax"

// A sort by ids compares documents of a sealed segment by their places among its ids. They are numbers,
// and a tile has a least and a greatest one, so ids are read only of documents that are found.

// IDPlace returns the place of a document among the ids of the segment, in the order of bytes: the least
// id is at 0.
func (d *Disk) IDPlace(doc uint32) (uint32, error) { return d.place(doc) }

// IDPlaces sets dst to the places of the documents of a tile of blockmax.TileDocs documents, and returns
// how many there are.
func (d *Disk) IDPlaces(tile int, dst *[blockmax.TileDocs]uint32) (n int, err error) {
	first := uint32(tile) * blockmax.TileDocs
	c, err := d.placesAt(first / d.ids.placeDocs)
	if err != nil {
		return 0, err
	}
	n = int(min(blockmax.TileDocs, d.meta.docs-first))
	c.read(first%d.ids.placeDocs, dst[:n])
	return n, nil
}

// IDPlaceBounds returns bounds of the places of the documents of a tile. In a segment without the feature
// smallPlaces they are those of several tiles.
func (d *Disk) IDPlaceBounds(tile int) (least, greatest uint32, err error) {
	c, err := d.placesAt(uint32(tile) * blockmax.TileDocs / d.ids.placeDocs)
	if err != nil {
		return 0, 0, err
	}
	return c.least, c.greatest, nil
}

// PlaceOfID returns how many ids of the segment are below an id, and whether it is among them.
func (d *Disk) PlaceOfID(id string) (place uint32, found bool, err error) {
	n, ok, err := d.pageOf(id)
	if !ok || err != nil {
		return 0, false, err
	}
	p := d.ids.pages[n].Load()
	if p == nil {
		if p, err = d.keepIDPage(n); err != nil {
			return 0, false, err
		}
	}
	i := p.ids.upTo(id)
	if found = i > 0 && string(p.ids.at(i-1)) == id; found {
		i-- // of several with that id the last one, which alone can be live
	}
	return n*idPageIDs + uint32(i), found, nil
}
