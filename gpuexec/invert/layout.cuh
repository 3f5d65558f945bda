// What Go and the kernels of this folder share; layout.go mirrors every struct. Each AT line is checked by
// the compiler here and by a test there.
#pragma once
#include "../kernels/warp.cuh"

const uint32_t tile = 4096;       // elements that a block of threads takes of a sort or a scan
const uint32_t digits = 256;      // of one pass of the sort: 8 bits
const uint32_t key_bytes = 7;     // of a term in a key
const uint32_t more_follows = 8;  // the lowest byte of a key, when its term has more bytes than the key

// The records of one chunk in one cell.
struct Piece {
  uint32_t from, bytes;  // in Args.bytes
  uint32_t base;         // what its documents count from
  uint32_t cell;
  uint32_t positions;    // 1 when its records have positions
};

// One record, as segment.Chunk.Group specifies it, taken apart.
struct Record {
  uint32_t term, term_bytes;  // in Args.bytes
  uint32_t rest, rest_bytes;  // the postings behind the first
  uint32_t n;                 // postings
  uint32_t first, tf, span;   // first document, of the whole; its frequency; last document minus first
  uint32_t cell;
  uint32_t places, place_bytes;  // in Args.bytes; no bytes without positions
};

// What is sorted: by group, then by key. The records of a group are alike so far.
struct Entry {
  uint64_t key;
  uint32_t group;
  uint32_t record;
};

// What the record of a term, which is made of several, has in all.
struct Whole {
  uint32_t n, rest_bytes, span, place_bytes;
};

// A node of a B-tree (trees.cu).
struct Node {
  uint32_t count, leaf;
  uint32_t cache[31];   // the four bytes behind the first three of each key
  uint32_t record[31];  // the first record of each key
  uint32_t child[32];
};

// The records of a term of a B-tree, by record: the one behind it; and for the first of all the last, and how many.
struct Chain {
  uint32_t next, last, size;
};

// One launch, or several that follow one another.
struct Args {
  Pointer<const uint8_t> bytes;
  Pointer<const Piece> pieces;
  Pointer<uint32_t> piece_first;  // number of the first record of each piece, once it is scanned; one more
  Pointer<Record> records;
  Pointer<Entry> from, to;              // entries before and after a pass
  Pointer<uint32_t> slots, next_slots;  // where each entry stands in the order of all
  Pointer<uint32_t> order;              // record at each place
  Pointer<uint32_t> head;               // 1 where a term begins
  Pointer<uint32_t> differs;            // 1 where an entry is other than the one before; then scanned; one more
  Pointer<uint32_t> keep;               // 1 where more bytes must be looked at; then scanned; one more
  Pointer<uint32_t> values;             // what is scanned; one more
  Pointer<uint32_t> sums;               // of its tiles
  Pointer<Whole> whole;                 // by place, where a term begins
  Pointer<uint32_t> begins, ends;       // by place: the first place of its term, and the one behind the last
  Pointer<uint32_t> size;               // bytes that each place gets without positions; then scanned; one more
  Pointer<uint32_t> place_size;         // bytes of positions that it gets, likewise
  Pointer<uint8_t> out;
  Pointer<uint32_t> cell_start;  // where the records of each cell begin in out
  Pointer<Node> nodes;
  Pointer<Chain> chains;
  Pointer<uint32_t> next_collection;
  uint32_t piece_count;
  uint32_t record_count;
  uint32_t count;        // entries
  uint32_t value_count;  // of values
  uint32_t depth;        // bytes of a term that have been looked at
  uint32_t pass;         // 0 to 7: a byte of the key; from 8 on: of the group
  uint32_t collection_count;
  uint32_t unused;
};

#define AT(type, field, offset) static_assert(__builtin_offsetof(type, field) == offset, "differs from layout.go")
#define SIZE(type, bytes) static_assert(sizeof(type) == bytes, "differs from layout.go")

AT(Piece, from, 0);
AT(Piece, bytes, 4);
AT(Piece, base, 8);
AT(Piece, cell, 12);
AT(Piece, positions, 16);
SIZE(Piece, 20);

AT(Args, bytes, 0);
AT(Args, pieces, 8);
AT(Args, piece_first, 16);
AT(Args, records, 24);
AT(Args, from, 32);
AT(Args, to, 40);
AT(Args, slots, 48);
AT(Args, next_slots, 56);
AT(Args, order, 64);
AT(Args, head, 72);
AT(Args, differs, 80);
AT(Args, keep, 88);
AT(Args, values, 96);
AT(Args, sums, 104);
AT(Args, whole, 112);
AT(Args, begins, 120);
AT(Args, ends, 128);
AT(Args, size, 136);
AT(Args, place_size, 144);
AT(Args, out, 152);
AT(Args, cell_start, 160);
AT(Args, nodes, 168);
AT(Args, chains, 176);
AT(Args, next_collection, 184);
AT(Args, piece_count, 192);
AT(Args, record_count, 196);
AT(Args, count, 200);
AT(Args, value_count, 204);
AT(Args, depth, 208);
AT(Args, pass, 212);
AT(Args, collection_count, 216);
SIZE(Args, 224);

// Of these Go knows only the size.
SIZE(Record, 44);
SIZE(Entry, 16);
SIZE(Whole, 16);
SIZE(Node, 384);
SIZE(Chain, 12);

#undef AT
#undef SIZE
