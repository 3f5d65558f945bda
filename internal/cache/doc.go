// Package cache keeps what searches would otherwise have to make again: opened posting lists with
// data derived from them, and the documents that pass a filter (both in Lists, within one budget),
// and impact tables (Tables). All are bounded, and safe for concurrent use.
//
// It identifies lists by the number of a segment, a field and a term. It must not know segments,
// views or queries, or where lists come from.
package cache
