// Package onpair compresses short strings so that each is decoded alone, in about a nanosecond a
// byte or less. It follows OnPair16 of Gargiulo and Venturini ("OnPair: Short Strings Compression
// for Fast Random Access", arXiv:2508.02280).
//
// A Table has up to 32,768 symbols of 1 to 15 bytes. The first 256 are the bytes, and every further
// one is two earlier symbols in a row. A string is the codes of its symbols, two bytes each. The
// decoder copies 16 bytes for a code, whatever its symbol's length, and has no other branch. Twice as
// many symbols would save a tenth of the codes, but code and decode more slowly, since neither would
// stay in nearby caches.
//
// A Trainer reads a sample once. It parses by the longest symbols, and joins two that follow each
// other for the third time. An Encoder parses in the same way.
//
// # Format
//
// A table is the pairs of symbols 256 and up, in that order:
//
//	left   u16, little-endian   code of the first half
//	right  u16                  code of the second half
//
// A string is either codes or its bytes:
//
//	even length   a code of two bytes, little-endian, for each symbol
//	odd length    0 and the bytes, or 1, 0 and the bytes, where codes would not be shorter
//
// A table with the pairs (61, 62) and (100, 63), in hex, has the symbols "ab" and "abc". In it
// "abcab" is 0101 0001, and "xyz" is 01 00 78797a.
package onpair
