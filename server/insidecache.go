package server

import (
	"net/url"

	"github.com/riffle-search/riffle"
	"github.com/riffle-search/riffle/client"
)

// cachePage shows the lists that searches look up most, in main memory and on each GPU.
type cachePage struct {
	Bytes   int64   // of all lists and filters in main memory
	Rate    float64 // share of look-ups that found a list, in percent
	Lists   []cacheRow
	Devices []devicePage
}

// A cacheRow is a cached list, with its visits and bytes relative to the most of all rows.
type cacheRow struct {
	client.CachedName
	Address       string // of the list, if it has one
	Visits        float64
	VisitShare    float64 // in percent
	Postings      int     // in main memory
	Extents, Kept int     // on a GPU
	Bytes         int64
	ByteShare     float64
}

type devicePage struct {
	Name        string
	Used, Bytes int64 // of its cache
	Lists       []cacheRow
}

const cachedLists = 30 // of each cache

// cachePage returns what the caches of an index have.
func (ix *index) cachePage(st *riffle.Stats) (*cachePage, error) {
	cached, err := ix.cached(cachedLists)
	if err != nil {
		return nil, err
	}
	p := &cachePage{Bytes: st.CacheBytes}
	if all := st.CacheHits + st.CacheMisses; all > 0 {
		p.Rate = 100 * float64(st.CacheHits) / float64(all)
	}
	for _, l := range cached.Lists {
		p.Lists = append(p.Lists, cacheRow{CachedName: l.CachedName, Visits: float64(l.Visits), Postings: l.Postings, Bytes: l.Bytes})
	}
	ix.relate(p.Lists)
	for i, d := range cached.Devices {
		to := devicePage{Name: d.Device}
		if st.GPU != nil && i < len(st.GPU.Devices) {
			to.Used, to.Bytes = st.GPU.Devices[i].Cache.UsedBytes, st.GPU.Devices[i].Cache.Bytes
		}
		for _, l := range d.Lists {
			to.Lists = append(to.Lists, cacheRow{CachedName: l.CachedName, Visits: l.Visits, Extents: l.Extents, Kept: l.CachedExtents, Bytes: l.CachedBytes})
		}
		ix.relate(to.Lists)
		p.Devices = append(p.Devices, to)
	}
	return p, nil
}

// relate sets what rows have in relation to the others.
func (ix *index) relate(rows []cacheRow) {
	visits, bytes := 1e-9, int64(1)
	for i := range rows {
		visits, bytes = max(visits, rows[i].Visits), max(bytes, rows[i].Bytes)
	}
	for i := range rows {
		row := &rows[i]
		row.VisitShare, row.ByteShare = 100*row.Visits/visits, 100*float64(row.Bytes)/float64(bytes)
		if row.Kind == "text" {
			row.Address = listAddress(url.Values{"index": {ix.name}, "field": {row.Field}, "term": {row.Term}})
		}
	}
}
