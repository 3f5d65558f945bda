package riffle

import "fmt"

// SetCacheBytes changes Options.CacheBytes while the index is open, so that a program can divide a
// budget among engines that come and go. StoredCacheBytes and TrigramBytes change in proportion. With
// less, lists that were used longest ago are dropped at once. What the store takes of CacheBytes stays as
// it was at Open: see there.
//
// It may be called from a Listener.
func (e *Engine) SetCacheBytes(bytes int64) error {
	if bytes <= 0 {
		return fmt.Errorf("riffle: SetCacheBytes: %d must be positive", bytes)
	}
	if err := e.index.Begin(); err != nil {
		return err
	}
	defer e.index.End()
	to := e.opts
	share := float64(bytes) / float64(to.CacheBytes)
	at := to.live().Store // as at Open
	to.CacheBytes = bytes
	stored := max(1, int64(float64(to.StoredCacheBytes)*share))
	trigrams := to.TrigramBytes
	if trigrams > 0 {
		trigrams = max(1, int64(float64(trigrams)*share))
	}
	e.index.SetCacheBytes(to.listBytes(&at), stored, trigrams)
	return nil
}
