// Package store keeps an index in Pebble: the log of documents, the manifest,
// the keys of immutable segments, deletions. It is the only importer of Pebble
// and knows nothing of what the bytes mean that segments and callers give it.
package store
