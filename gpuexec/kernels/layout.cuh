// What Go and the kernels share: one Batch in device memory, and the arrays it points to. layout.go
// in package gpuexec mirrors every struct; each AT line below is checked by the compiler here and by
// a test there.
//
// Documents are numbered within their segment, as in package postings, and blocks, extents, rows and
// encodings are that package's. A missing extent is one that is not on the device.
#pragma once
#include "device.cuh"

// How good a document is: its score in the upper half, the complement of its global number in the
// lower one. So keys of different documents differ, the higher one ranks before the other, and one
// atomicMax raises a threshold with ties and all. Scores are below 1<<31.
typedef unsigned long long Key;

const uint32_t missing = ~0u;      // the rows of an extent that is not on the device
const uint32_t unneeded = ~0u - 1; // the same, when no document there can enter any of the batch's answers
const uint32_t no_bound = ~0u;     // the bound of a tile where nothing can match
const uint32_t max_terms = 64;     // of a query
const uint32_t extent_blocks = 32;
const uint32_t rank_tile_shift = 12;  // blockmax.TileDocs is 4,096
const uint32_t seeds = 64;         // tiles of a query that are visited before all others
const uint32_t and_seeds = 16;      // the same of an AND
const uint32_t block_seeds = 4;    // and where tiles cost as much as their blocks, or nothing is pruned
const uint32_t strips = 32;        // of a tile: equal shares of its documents
const uint32_t cells = 8;          // of a strip, likewise

// An extent of a list: 32 blocks, the last one perhaps fewer. The array of a list's extents stays on
// the device as long as all of them do; else it comes with each batch, and is all that changes when extents come and go.
struct Extent {
  uint32_t last;   // last document
  uint32_t head;   // row of the arena where its Head is
  uint32_t rows;   // row of the arena where its blocks begin, missing or unneeded
  uint32_t bound;  // highest impact
};

// The directory of an extent, in the arena: 20 rows. It stays there as long as the list does.
struct Head {
  uint32_t last[extent_blocks];      // last document of each block
  uint16_t off[extent_blocks];       // where its rows begin, from the first of the extent
  uint16_t encoding[extent_blocks];  // postings.Encoding
  uint16_t bound[extent_blocks];     // highest impact
};

// blockmax.Table.
struct Table {
  uint16_t small[16][256];  // impacts of frequencies below 16, by frequency and length code
  float k[256];             // by length code
};

// A posting list of one segment, and the bounds of one similarity.
//
// It has a directory of tiles, made for each batch by index_lists: the first block that reaches each tile, or behind it,
// and the highest impact there, plus one; 0 where the list has no posting. Of lists with several blocks a tile that is the
// highest among the blocks that touch the tile. Sparse ones are decoded for it, and so have what is true.
//
// A list may also be there as flat postings (flat.cuh). When no query of the batch reads its blocks, it has no directory of tiles.
struct List {
  Pointer<const uint4> arena;
  Pointer<const Extent> extents;
  Pointer<const Table> table;
  Pointer<const uint8_t> norms;  // length code of each document; null when all are 1
  Pointer<uint32_t> tile_first;  // for each tile, and one more; of a list in a window its marks: for each tile the strips that queries may look at, a bit each
  Pointer<uint32_t> tile_bound;  // for each tile
  Pointer<const uint32_t> flat;        // its postings; null when they are not there
  Pointer<const uint32_t> flat_first;  // number of the first posting of each 1<<flat_shift documents, and count
  Pointer<const uint8_t> flat_bound;   // bound on the impacts of each strip, as bound_impact has it, and behind them those of cells; of a list in a window
                                       // the levels of cells, as its record has them
  uint32_t count;                // postings
  uint32_t block_size;           // postings in every block but the last
  uint32_t blocks;
  uint32_t highest;              // impact of the whole list
  uint32_t tiles;
  uint32_t first_block;          // its blocks are number first_block on of those of all lists
  uint32_t sparse;               // not 0 when it has less than a block a tile
  uint32_t flat_shift;
};

// A list to be made flat.
struct Flattening {
  Pointer<const List> list;
  Pointer<uint32_t> flat, first;
  Pointer<uint8_t> bound;
  uint32_t shift;    // as List.flat_shift
  uint32_t entries;  // of first, but for the last
};

// A list in a window: some consecutive tiles of a segment, which a batch goes through at a time (windows.go). Its record is what the host
// keeps of it, in rows, and each part begins with a row:
//
//	uint8_t bound[strips * tiles]          of each strip, as bound_impact has it (flat.cuh)
//	uint16_t levels[strips * tiles]        of the cells of each strip, two bits each (levels.cuh)
//	                                       A packed record, of a list with few postings, has these two instead:
//	  uint32_t there[tiles]                strips with postings, a bit each
//	  uint16_t of_strip[]                  bound of each of those strips in the lower byte, cells with postings in the upper one
//	uint32_t last[blocks + 1]              last document of the block before the first, ~0 for none, and of each block
//	uint32_t row[blocks / slice_unit]      where each unit of blocks begins, rounded up, in rows from the first of all
//	uint16_t encoding[blocks]              postings.Encoding
//	uint4 rows[]                           of the blocks, as package postings has them
//
// A block that reaches over the edge of a window is in the records of both sides. Documents of flat postings are counted from the
// window's first.
struct Slice {
  Pointer<const uint4> record;
  Pointer<const uint4> source;     // the record in the host's memory, when only its first parts have come; null when all has
  Pointer<const Table> table;
  Pointer<const uint8_t> norms;    // of the segment, as List.norms
  Pointer<const uint32_t> marks;   // List.tile_first
  Pointer<uint32_t> flat, first;
  Pointer<uint8_t> bound;          // where bound and levels of a packed record go
  uint32_t blocks;
  uint32_t block_size;
  uint32_t last_size;    // postings of the last block
  uint32_t from;         // document of the segment that the window begins with
  uint32_t tiles;        // of the window
  uint32_t shift;        // as List.flat_shift
  uint32_t entries;      // of first, but for the last
  uint32_t first_unit;   // its blocks are units of slice_unit, counted through all slices, from this one on
  uint32_t head;         // rows of the record before last
  uint32_t packed;       // not 0 when the record is packed
};

// Rows to be read from the host's memory.
struct Fetch {
  Pointer<const uint4> from;  // of the host
  Pointer<uint4> to;
  uint32_t rows;
  uint32_t first_unit;  // units of fetch_unit rows, counted through all
};

// Half a unit of a slice, of which some blocks are made flat.
struct Piece {
  Pointer<const uint4> from;  // of the host: rows that have to be read first
  Pointer<uint4> to;
  uint32_t rows;              // 0 when they are there
  uint32_t slice;
  uint32_t unit;
  uint32_t marks;             // blocks of the unit and that behind it that are made flat, a bit each, and upper_half
};

const uint32_t upper_half = 1u << 31;

// What comes and is made flat for one window.
struct Window {
  Pointer<const Slice> slices;
  Pointer<const Fetch> fetches;
  Pointer<uint32_t> counters;    // take_unit and so on
  Pointer<Piece> pieces;         // two for each unit have room: those to be read from the beginning on, the others from the end
  Pointer<unsigned long long> rows_read;  // of pieces, of the whole batch
  uint32_t slice_count;
  uint32_t units;
  uint32_t fetch_count;
  uint32_t fetch_units;
  uint32_t tile_shift;
  uint32_t unused;
};

const uint32_t slice_unit = 16, fetch_unit = 256;  // as in layout.go

// What is counted: what has been taken so far of units, fetches, and pieces, to be read and to be made flat; and how many pieces have to be
// read, and how many are there.
const uint32_t take_unit = 0, take_fetch = 1, take_piece = 2, take_flat = 3, piece_count = 4, there_count = 5;

struct Term {
  Pointer<const List> list;
  uint32_t weight;
  uint32_t leaf;  // of a tree, the number of its leaf
};

// A node of a boolean tree that is not a leaf. Which leaves and nodes a document matches, it has in 64 bits each, numbered from 0; a node
// stands behind those below it, so the root is the last.
struct Node {
  uint64_t required, required_nodes;  // all have to match (Must and Filter),
  uint64_t excluded, excluded_nodes;  // none of these (Not),
  uint64_t optional, optional_nodes;  // and at least least of these (Should)
  uint64_t scoring, scoring_nodes;    // whose scores add up (Must and Should); none when the score is constant
  uint32_t least;
  uint32_t constant;  // added to the score
};

// A step of counting the documents that match (count_matches.cu). slot is where it puts what comes of it. from is a slot, or of the first
// three the number of a leaf.
struct Step {
  uint32_t op;
  uint32_t slot, from;
  uint32_t bits;   // slots that a number has
  uint32_t least;  // of count_least; of count_fill what is put in
};

const uint32_t count_or = 0, count_and = 1, count_not = 2;                            // with a leaf
const uint32_t count_fill = 3, count_or_slot = 4, count_and_slot = 5, count_not_slot = 6;
const uint32_t count_add = 7, count_least = 8;  // numbers, of at least so many of several

// How the documents of a part are gone through.
const uint32_t by_or_tiles = 0, by_and_tiles = 1, by_lead_blocks = 2, by_counting = 3;

// A query in one segment. In an AND, the terms ascend by length: the first leads.
struct Part {
  Pointer<const uint32_t> accept;     // bit d is set when document d may be returned; null for all
  Pointer<const uint16_t> rank;       // static rank of each document; null for none
  Pointer<const uint16_t> rank_tile;  // highest rank of each 4,096 documents
  Pointer<const uint32_t> tail;       // what documents of these 4,096, or later ones, can score; null if unknown
  Pointer<const Term> terms;
  uint32_t term_count;
  uint32_t query;
  uint32_t skip;        // its first documents, whole tiles, which are not of the plan: their postings mean nothing
  uint32_t base;        // global number of document 0
  uint32_t docs;
  uint32_t way;         // by_or_tiles, ...
  uint32_t tiles;
  uint32_t first_tile;  // its tiles are Batch.tile_bounds[first_tile:first_tile+tiles]
  uint32_t lead_shared; // not 0 when the warps of a thread block, two or four, share each block of the lead
  uint32_t first_group; // of lead blocks, of those of all parts
};

// How much bounds are made use of.
const uint32_t no_bounds = 0, list_bounds = 1, block_bounds = 2;

// What OR does when AND came first.
const uint32_t mode_or = 0, mode_and = 1, mode_and_or = 2;

struct Query {
  Key after;          // only keys below it are wanted
  Key seed;           // no key below it can enter, as is known beforehand (of OR)
  Pointer<Key> best;  // room keys, that were found so far
  Pointer<Key> answer;  // room for the k that come back
  Pointer<uint32_t> counts;  // keys found so far by ranges of scores (append.cuh); null when the query does not append
  Pointer<const Part> parts; // those of AND first
  uint32_t part_count;
  uint32_t k;
  uint32_t mode;
  uint32_t bounds;       // no_bounds, ...
  uint32_t rank_weight;
  uint32_t by_strips;    // not 0 when its tiles are for strips.cu, or_flat.cu and or_rounded.cu
  uint32_t whole_strips; // from so many strips on a tile goes as a whole, for or_flat.cu or or_rounded.cu
  uint32_t room;
  uint32_t lowest;       // score that the first range begins with; none that is found is below it
  uint32_t range_shift;  // a range has 1 << range_shift scores, the last one all that are higher
  uint32_t node_count;   // of a tree; 0 for a flat query. A tree has by_strips, too
  uint32_t constants;    // sum of those of all nodes
  Pointer<const Node> nodes;
  uint64_t scoring;      // leaves that may add to the score, a bit each; the others have weight 0
  Pointer<const Step> steps;  // when only the number of documents that match is wanted
  uint32_t step_count;
  uint32_t unused;
};

const uint32_t count_ranges = 1024;  // as in append.go

// What is known of a query by now. Other blocks change it at any time.
struct State {
  Key threshold;                // what has a lower key cannot enter; never falls in a pass
  unsigned long long matched;   // accepted documents that match, among those seen
  unsigned long long scored;    // documents with a score, also a part of one
  unsigned long long decoded;   // blocks
  uint32_t lock;
  uint32_t held;                // keys in Query.best; of a query that appends, while its list is full, more than it has room for
  uint32_t pruned;              // not 0 when something was passed over because of bounds
  uint32_t unresolved;          // ranges reported as such
  uint32_t answered;            // not 0 when AND found enough: OR has nothing to do
  uint32_t unused;
};

// A tile to visit. Of its 32 parts of equal width only those can hold a document that enters whose bit is set
// in alive. tile also has the bit strips_only when some of the strips are a seed's, looked at before all others: the tile cannot go as
// a whole then, since they would be looked at twice.
const uint32_t strips_only = 1u << 31;

struct Item {
  uint32_t part, tile, alive;
};

struct Queue {
  Pointer<Item> items;
  uint32_t size;  // items in it
  uint32_t next;  // the first that nobody has taken
};

// Documents that have to be looked at elsewhere, since extents are missing.
struct Range {
  uint32_t part;
  uint32_t from, to;  // documents from to to-1
  uint32_t bound;     // on their scores
};

// A copy of whole rows, from what came with the batch to where they stay. Rows from missing are cleared.
struct Move {
  uint32_t from, to, rows, unused;
};

// All of a batch. There is one for each pass: AND and OR, seeds and the rest, which differ in queue,
// seeds and and_pass.
struct Batch {
  Pointer<const List> lists;
  Pointer<const Query> queries;
  Pointer<State> states;
  Pointer<const Part> parts;
  Pointer<uint32_t> tile_bounds;
  Pointer<Key> seeds;        // of each query: bound, and complement of the tile's number in tile_bounds
  Pointer<Queue> queue;      // of tiles to visit in this pass
  Pointer<Queue> strip_queue;  // the same for strips.cu
  Pointer<Queue> flat_queue;   // and for or_flat.cu or or_rounded.cu
  Pointer<Queue> tree_queue;   // and for tree_strips.cu
  Pointer<Range> unresolved;
  Pointer<uint32_t> unresolved_count;
  Pointer<const Move> moves;
  Pointer<uint4> rows;       // the arena, to be written
  Pointer<Key> heaps;        // ranges.cu: room for k keys for each thread
  Pointer<uint32_t> counters;  // groups, queries, moves and units of counting taken so far, in this order
  Pointer<const Flattening> flattenings;
  uint32_t query_count;
  uint32_t part_count;
  uint32_t move_count;
  uint32_t group_count;      // lead blocks of all parts, in groups: of one that is shared, else of as many as a thread block has warps
  uint32_t tiles_most;       // of any part
  uint32_t tile_shift;       // a tile is 1<<tile_shift documents
  uint32_t unresolved_room;
  uint32_t tile_room;        // keys in the pool of a thread block that works on a tile; even
  uint32_t pool_room;        // in that of any other: a power of two
  uint32_t heap_room;        // keys in the heap of a thread
  uint32_t list_count;
  uint32_t block_count;      // of all lists
  uint32_t and_pass;         // not 0 while it is the turn of AND
  uint32_t range_algorithm;  // ranges.cu
  uint32_t list_room;        // lists that fit into the shared memory of a thread block: the most that a part has
  uint32_t staged_from;      // blocks of postings of a tile from which on its length codes are staged; 0 for never
  uint32_t flattening_count;
  uint32_t marks;            // not 0 when lists have marks: of a window
  Pointer<const uint32_t> count_parts;  // numbers of the parts by_counting
  uint32_t count_part_count;
  uint32_t count_units;      // of work: count_run tiles of each of those parts at a time
  uint32_t count_run;
  uint32_t count_slots;      // the most that a query needs, and one more
};

const uint32_t take_group = 0, take_query = 1, take_move = 2, take_count = 3;

#define AT(type, field, offset) static_assert(__builtin_offsetof(type, field) == offset, "differs from layout.go")
#define SIZE(type, bytes) static_assert(sizeof(type) == bytes, "differs from layout.go")

AT(Extent, last, 0);
AT(Extent, head, 4);
AT(Extent, rows, 8);
AT(Extent, bound, 12);
SIZE(Extent, 16);

AT(Head, last, 0);
AT(Head, off, 128);
AT(Head, encoding, 192);
AT(Head, bound, 256);
SIZE(Head, 320);

AT(List, arena, 0);
AT(List, extents, 8);
AT(List, table, 16);
AT(List, norms, 24);
AT(List, tile_first, 32);
AT(List, tile_bound, 40);
AT(List, flat, 48);
AT(List, flat_first, 56);
AT(List, flat_bound, 64);
AT(List, count, 72);
AT(List, block_size, 76);
AT(List, blocks, 80);
AT(List, highest, 84);
AT(List, tiles, 88);
AT(List, first_block, 92);
AT(List, sparse, 96);
AT(List, flat_shift, 100);
SIZE(List, 104);

AT(Flattening, list, 0);
AT(Flattening, flat, 8);
AT(Flattening, first, 16);
AT(Flattening, bound, 24);
AT(Flattening, shift, 32);
AT(Flattening, entries, 36);
SIZE(Flattening, 40);

AT(Slice, record, 0);
AT(Slice, source, 8);
AT(Slice, table, 16);
AT(Slice, norms, 24);
AT(Slice, marks, 32);
AT(Slice, flat, 40);
AT(Slice, first, 48);
AT(Slice, bound, 56);
AT(Slice, blocks, 64);
AT(Slice, block_size, 68);
AT(Slice, last_size, 72);
AT(Slice, from, 76);
AT(Slice, tiles, 80);
AT(Slice, shift, 84);
AT(Slice, entries, 88);
AT(Slice, first_unit, 92);
AT(Slice, head, 96);
AT(Slice, packed, 100);
SIZE(Slice, 104);

AT(Fetch, from, 0);
AT(Fetch, to, 8);
AT(Fetch, rows, 16);
AT(Fetch, first_unit, 20);
SIZE(Fetch, 24);

AT(Piece, from, 0);
AT(Piece, to, 8);
AT(Piece, rows, 16);
AT(Piece, slice, 20);
AT(Piece, unit, 24);
AT(Piece, marks, 28);
SIZE(Piece, 32);

AT(Window, slices, 0);
AT(Window, fetches, 8);
AT(Window, counters, 16);
AT(Window, pieces, 24);
AT(Window, rows_read, 32);
AT(Window, slice_count, 40);
AT(Window, units, 44);
AT(Window, fetch_count, 48);
AT(Window, fetch_units, 52);
AT(Window, tile_shift, 56);
SIZE(Window, 64);

AT(Table, small, 0);
AT(Table, k, 8192);
SIZE(Table, 9216);

AT(Term, list, 0);
AT(Term, weight, 8);
AT(Term, leaf, 12);
SIZE(Term, 16);

AT(Node, required, 0);
AT(Node, required_nodes, 8);
AT(Node, excluded, 16);
AT(Node, excluded_nodes, 24);
AT(Node, optional, 32);
AT(Node, optional_nodes, 40);
AT(Node, scoring, 48);
AT(Node, scoring_nodes, 56);
AT(Node, least, 64);
AT(Node, constant, 68);
SIZE(Node, 72);

AT(Step, op, 0);
AT(Step, slot, 4);
AT(Step, from, 8);
AT(Step, bits, 12);
AT(Step, least, 16);
SIZE(Step, 20);

AT(Part, accept, 0);
AT(Part, rank, 8);
AT(Part, rank_tile, 16);
AT(Part, tail, 24);
AT(Part, terms, 32);
AT(Part, term_count, 40);
AT(Part, query, 44);
AT(Part, skip, 48);
AT(Part, base, 52);
AT(Part, docs, 56);
AT(Part, way, 60);
AT(Part, tiles, 64);
AT(Part, first_tile, 68);
AT(Part, lead_shared, 72);
AT(Part, first_group, 76);
SIZE(Part, 80);

AT(Query, after, 0);
AT(Query, seed, 8);
AT(Query, best, 16);
AT(Query, answer, 24);
AT(Query, counts, 32);
AT(Query, parts, 40);
AT(Query, part_count, 48);
AT(Query, k, 52);
AT(Query, mode, 56);
AT(Query, bounds, 60);
AT(Query, rank_weight, 64);
AT(Query, by_strips, 68);
AT(Query, whole_strips, 72);
AT(Query, room, 76);
AT(Query, lowest, 80);
AT(Query, range_shift, 84);
AT(Query, node_count, 88);
AT(Query, constants, 92);
AT(Query, nodes, 96);
AT(Query, scoring, 104);
AT(Query, steps, 112);
AT(Query, step_count, 120);
SIZE(Query, 128);

AT(State, threshold, 0);
AT(State, matched, 8);
AT(State, scored, 16);
AT(State, decoded, 24);
AT(State, lock, 32);
AT(State, held, 36);
AT(State, pruned, 40);
AT(State, unresolved, 44);
AT(State, answered, 48);
SIZE(State, 56);

AT(Item, part, 0);
AT(Item, tile, 4);
AT(Item, alive, 8);
SIZE(Item, 12);

AT(Queue, items, 0);
AT(Queue, size, 8);
AT(Queue, next, 12);
SIZE(Queue, 16);

AT(Range, part, 0);
AT(Range, from, 4);
AT(Range, to, 8);
AT(Range, bound, 12);
SIZE(Range, 16);

AT(Move, from, 0);
AT(Move, to, 4);
AT(Move, rows, 8);
SIZE(Move, 16);

AT(Batch, lists, 0);
AT(Batch, queries, 8);
AT(Batch, states, 16);
AT(Batch, parts, 24);
AT(Batch, tile_bounds, 32);
AT(Batch, seeds, 40);
AT(Batch, queue, 48);
AT(Batch, strip_queue, 56);
AT(Batch, flat_queue, 64);
AT(Batch, tree_queue, 72);
AT(Batch, unresolved, 80);
AT(Batch, unresolved_count, 88);
AT(Batch, moves, 96);
AT(Batch, rows, 104);
AT(Batch, heaps, 112);
AT(Batch, counters, 120);
AT(Batch, flattenings, 128);
AT(Batch, query_count, 136);
AT(Batch, part_count, 140);
AT(Batch, move_count, 144);
AT(Batch, group_count, 148);
AT(Batch, tiles_most, 152);
AT(Batch, tile_shift, 156);
AT(Batch, unresolved_room, 160);
AT(Batch, tile_room, 164);
AT(Batch, pool_room, 168);
AT(Batch, heap_room, 172);
AT(Batch, list_count, 176);
AT(Batch, block_count, 180);
AT(Batch, and_pass, 184);
AT(Batch, range_algorithm, 188);
AT(Batch, list_room, 192);
AT(Batch, staged_from, 196);
AT(Batch, flattening_count, 200);
AT(Batch, marks, 204);
AT(Batch, count_parts, 208);
AT(Batch, count_part_count, 216);
AT(Batch, count_units, 220);
AT(Batch, count_run, 224);
AT(Batch, count_slots, 228);
SIZE(Batch, 232);

#undef AT
#undef SIZE
