// Package cache keeps what searches would otherwise make anew: opened posting lists with what they have
// learnt from use (Lists), and impact tables (Tables). Both are bounded, and safe for concurrent use.
//
// It knows lists by the number of a segment, a field and a term. It must not know segments, views or
// queries, nor where lists come from.
package cache
