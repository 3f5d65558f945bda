// Package cache keeps what searches would otherwise have to make again: opened posting lists with
// data derived from them (Lists), and impact tables (Tables). Both are bounded, and safe for
// concurrent use.
//
// It identifies lists by the number of a segment, a field and a term. It must not know segments,
// views or queries, or where lists come from.
package cache
