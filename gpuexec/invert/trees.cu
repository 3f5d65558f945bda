// The way of Wei 2011: terms with the same first three bytes, a collection of the paper's trie, go into a B-tree of their
// own, one after the other, by a warp that compares with all keys of a node at once. A node is a few hundred bytes, so that a warp
// has it in few reads; it has the next four bytes of each of its 31 keys, which mostly decide. Warps take collections as they
// have time.
//
// Other than in the paper, what is inserted is not a word of the text but the record of a term in a chunk, the tree lives for one
// segment, and strings are compared where they are. At the end the tree is read in order, which the paper leaves to the CPU.
#include "layout.cuh"

const uint32_t node_keys = 31, half = 15;  // a full node is split in two halves and one key between them
const uint32_t levels = 8;                 // of more than 16^7 keys
const uint32_t nothing = ~0u;

// Where collections begin: entries have been sorted by cell and three bytes.
extern "C" __global__ void __launch_bounds__(256) mark_collections(const Args *args) {
  const Args a = *args;
  for (uint32_t i = blockIdx.x * blockDim.x + threadIdx.x; i < a.count; i += blockDim.x * gridDim.x) {
    const Entry e = a.from[i];
    a.differs[i] = i == 0 || e.group != a.from[i - 1].group || e.key >> 40 != a.from[i - 1].key >> 40;
  }
}

// keep[c] = the first entry of collection c, and behind the last the number of entries. differs has been scanned.
extern "C" __global__ void __launch_bounds__(256) list_collections(const Args *args) {
  const Args a = *args;
  for (uint32_t i = blockIdx.x * blockDim.x + threadIdx.x; i < a.count; i += blockDim.x * gridDim.x) {
    if (a.differs[i + 1] != a.differs[i]) a.keep[a.differs[i]] = i;
    if (i + 1 == a.count) a.keep[a.differs[i + 1]] = a.count;
  }
}

// The order of two terms whose first seven bytes, filled up with zeros, are equal.
__device__ __forceinline__ int order_of(const uint8_t *bytes, const Record &x, const Record &y) {
  uint32_t both = min(x.term_bytes, y.term_bytes);
  for (uint32_t i = key_bytes; i < both; i++) {
    uint32_t b = bytes[x.term + i], c = bytes[y.term + i];
    if (b != c) return b < c ? -1 : 1;
  }
  return x.term_bytes == y.term_bytes ? 0 : x.term_bytes < y.term_bytes ? -1 : 1;
}

// The tree of one collection. All lanes of the warp are in it.
struct Tree {
  const Args &a;
  uint32_t lane, root, free;  // free: the next node that nobody has

  __device__ __forceinline__ Node &node(uint32_t i) { return a.nodes[i]; }

  __device__ __forceinline__ uint32_t take(bool leaf) {
    if (lane == 0) {
      node(free).count = 0;
      node(free).leaf = leaf;
    }
    __syncwarp();
    return free++;
  }

  // Puts a key at a position of a node that has room.
  __device__ void put(Node &n, uint32_t at, uint32_t cache, uint32_t record) {
    uint32_t count = n.count, c = 0, r = 0;
    bool moves = lane >= at && lane < count;
    if (moves) {
      c = n.cache[lane];
      r = n.record[lane];
    }
    __syncwarp();
    if (moves) {
      n.cache[lane + 1] = c;
      n.record[lane + 1] = r;
    }
    if (lane == 0) {
      n.cache[at] = cache;
      n.record[at] = record;
      n.count = count + 1;
    }
    __syncwarp();
  }

  // Splits the full child at a position of a node that has room: its middle key rises.
  __device__ void split(uint32_t parent, uint32_t at) {
    Node &p = node(parent), &y = node(p.child[at]);
    uint32_t leaf = y.leaf, right = take(leaf), count = p.count, child = 0;
    Node &z = node(right);
    uint32_t cache = y.cache[half], record = y.record[half];
    if (lane < half) {
      z.cache[lane] = y.cache[half + 1 + lane];
      z.record[lane] = y.record[half + 1 + lane];
    }
    if (!leaf && lane <= half) z.child[lane] = y.child[half + 1 + lane];
    bool moves = lane > at && lane <= count;
    if (moves) child = p.child[lane];
    __syncwarp();
    if (moves) p.child[lane + 1] = child;
    if (lane == 0) {
      p.child[at + 1] = right;
      y.count = z.count = half;
    }
    __syncwarp();
    put(p, at, cache, record);
  }

  // Adds a record behind those of its term.
  __device__ void append(uint32_t first, uint32_t record) {
    a.chains[a.chains[first].last].next = record;
    a.chains[first].last = record;
    a.chains[first].size++;
  }

  __device__ void insert(uint64_t key, uint32_t record) {
    const Record &r = a.records[record];
    uint32_t cache = static_cast<uint32_t>(key >> 8);
    if (lane == 0) a.chains[record] = Chain{nothing, record, 1};
    if (node(root).count == node_keys) {
      uint32_t old = root;
      root = take(false);
      if (lane == 0) node(root).child[0] = old;
      __syncwarp();
      split(root, 0);
    }
    for (uint32_t i = root;;) {
      Node &n = node(i);
      int order = 1;  // of the lane's key
      if (lane < n.count) {
        uint32_t c = n.cache[lane];
        order = c < cache ? -1 : c > cache ? 1 : order_of(a.bytes, a.records[n.record[lane]], r);
      }
      uint32_t equal = __ballot_sync(all_lanes, order == 0), at = __popc(__ballot_sync(all_lanes, order < 0));
      if (equal != 0) {
        __syncwarp();
        if (order == 0) append(n.record[lane], record);
        __syncwarp();
        return;
      }
      if (n.leaf) {
        put(n, at, cache, record);
        return;
      }
      uint32_t child = n.child[at];
      if (node(child).count == node_keys) {
        split(i, at);
      } else {
        i = child;
      }
    }
  }

  // Writes the records of some keys of a node to their places, a lane for each key. It returns how many they are.
  __device__ uint32_t emit(const Node &n, uint32_t from, uint32_t keys, uint32_t to) {
    uint32_t record = lane < keys ? n.record[from + lane] : nothing, size = lane < keys ? a.chains[record].size : 0;
    uint32_t place = to + sum_before(size, lane);
    for (uint32_t i = 0; i < size; i++, record = a.chains[record].next) {
      a.order[place + i] = record;
      a.head[place + i] = i == 0;
    }
    return __reduce_add_sync(all_lanes, size);
  }

  // Writes all records to their places, in the order of terms.
  __device__ void emit_all(uint32_t to) {
    uint32_t path[levels], next[levels], depth = 0;  // next: child that comes next
    path[0] = root;
    next[0] = 0;
    for (;;) {
      const Node &n = node(path[depth]);
      if (!n.leaf && next[depth] <= n.count) {
        path[depth + 1] = n.child[next[depth]];
        next[++depth] = 0;
        continue;
      }
      if (n.leaf) to += emit(n, 0, n.count, to);
      if (depth-- == 0) return;
      const Node &up = node(path[depth]);
      if (next[depth] < up.count) to += emit(up, next[depth], 1, to);
      next[depth]++;
    }
  }
};

// A warp for each collection. One of fewer than 32 records needs one node, which the warp has for all of these; others
// have an eighth as many nodes as records, for all but the root are half full.
extern "C" __global__ void __launch_bounds__(256) grow_trees(const Args *args) {
  const Args a = *args;
  uint32_t lane = threadIdx.x % 32, own = a.record_count / 8 + (blockIdx.x * blockDim.x + threadIdx.x) / 32;
  for (;;) {
    uint32_t c = lane == 0 ? atomicAdd(a.next_collection.get(), 1u) : 0;
    c = __shfl_sync(all_lanes, c, 0);
    if (c >= a.collection_count) return;
    uint32_t first = a.keep[c], end = a.keep[c + 1];
    Tree t{a, lane, 0, end - first > node_keys ? first / 8 : own};
    t.root = t.take(true);
    for (uint32_t i = first; i < end; i++) t.insert(a.from[i].key, a.from[i].record);
    t.emit_all(first);
    __syncwarp();
  }
}
