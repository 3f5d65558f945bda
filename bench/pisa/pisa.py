"""PISA under the comparison's protocol; see ../protocol/protocol.go for what the
lines mean and what is timed.

PISA is a set of C++ programs. The wheel of pyterrier-pisa brings its retrieval
as a Python extension, which this script calls without PyTerrier. So:

- there are no counts, because the extension has none;
- the inverted file is made here by numpy, because PISA's own parser would split
  the tokens anew; its build time is not PISA's;
- a call costs some microseconds of Python, and copies the term processor.
"""

import ctypes
import importlib.machinery
import importlib.util
import json
import os
import sys
import time

import numpy as np

SITE = os.path.dirname(os.path.dirname(np.__file__))
ENCODING = "block_simdbp"
BLOCK = 64  # postings a block of its bounds, the extension's default


def extension():
    ctypes.CDLL(os.path.join(sys.prefix, "lib", "libtbb.so.2"), mode=ctypes.RTLD_GLOBAL)
    folder = os.path.join(SITE, "pyterrier_pisa")
    path = next(os.path.join(folder, f) for f in os.listdir(folder) if f.startswith("_pisathon") and f.endswith(".so"))
    loader = importlib.machinery.ExtensionFileLoader("_pisathon", path)
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("_pisathon", loader))
    loader.exec_module(module)
    return module


PISA = extension()


def build(req):
    """Writes PISA's uncompressed inverted file, and has PISA compress it."""
    folder = req["dir"]
    os.makedirs(folder, exist_ok=True)
    numbers, tokens, lengths = {}, [], []
    with open(req["docs"], encoding="utf-8", newline="\n") as lines:
        for line in lines:
            words = line.rstrip("\n").split(" ") if line != "\n" else []
            lengths.append(len(words))
            tokens.append(np.fromiter((numbers.setdefault(w, len(numbers)) for w in words), np.uint32, len(words)))
    # PISA looks terms up by binary search: number them in byte order.
    terms = sorted(numbers)
    rank = np.empty(len(terms), np.uint64)
    rank[[numbers[t] for t in terms]] = np.arange(len(terms), dtype=np.uint64)
    docs = np.repeat(np.arange(len(lengths), dtype=np.uint64), lengths)
    pairs, freqs = np.unique(rank[np.concatenate(tokens)] << np.uint64(32) | docs, return_counts=True)
    starts = np.searchsorted(pairs, np.arange(len(terms) + 1, dtype=np.uint64) << np.uint64(32))

    def path(name):
        return os.path.join(folder, name)

    def sequences(name, values):
        """Each list behind its length, all 32-bit numbers."""
        out = np.insert(values.astype(np.uint32), starts[:-1], np.diff(starts).astype(np.uint32))
        with open(path(name), "ab") as f:
            out.tofile(f)

    np.array([1, len(lengths)], np.uint32).tofile(path("inv.docs"))
    sequences("inv.docs", pairs & np.uint64(0xFFFFFFFF))
    sequences("inv.freqs", freqs)
    np.array([len(lengths)] + lengths, np.uint32).tofile(path("inv.sizes"))
    for name, items in (("terms", terms), ("documents", range(len(lengths)))):
        with open(path("fwd." + name), "w", encoding="utf-8", newline="\n") as f:
            f.writelines(f"{item}\n" for item in items)
    PISA.build_binlex(path("fwd.terms"), path("fwd.termlex"))
    PISA.build_binlex(path("fwd.documents"), path("fwd.doclex"))
    prepare(folder)
    # What retrieval does not read goes. The head of inv.docs, which says how many
    # documents there are, and the documents of each term stay for our own use.
    for name in ("inv.freqs", "inv.sizes", "fwd.terms", "fwd.documents"):
        os.remove(path(name))
    os.truncate(path("inv.docs"), 8)
    np.save(path("df.npy"), np.diff(starts).astype(np.uint32))
    return {"docs": len(lengths)}


def prepare(folder):
    context = PISA.RetrievalContext()
    PISA.prepare_index(context, folder, ENCODING, "bm25", "", block_size=BLOCK, bm25_k1=1.2, bm25_b=0.75)
    return context


class Opened:
    def __init__(self, req):
        self.folder = req["dir"]
        self.context = prepare(self.folder)
        self.df = np.load(os.path.join(self.folder, "df.npy"))
        self.reply = {
            "version": "PISA (pyterrier-pisa 0.4.9)",
            "docs": int(np.fromfile(os.path.join(self.folder, "inv.docs"), np.uint32, 2)[1]),
            "terms": PISA.num_terms(self.folder),
            "segments": 1,
        }

    def frequencies(self, req):
        """PISA has no call for this: its lexicon says which terms there are, our array how often."""
        raw = open(os.path.join(self.folder, "fwd.termlex"), "rb").read()
        n = int(np.frombuffer(raw, np.uint64, 1)[0])
        offsets = np.frombuffer(raw, np.uint64, n + 1, 8).astype(np.int64)
        payload = raw[8 + 8 * (n + 1) :]
        terms = {payload[a:b]: i for i, (a, b) in enumerate(zip(offsets, offsets[1:]))}
        at = [terms.get(t.encode()) for t in req["terms"]]
        return {"df": [0 if i is None else int(self.df[i]) for i in at]}

    def run(self, req):
        if req["want"] != "top":
            raise ValueError("PISA's extension does not count")
        k = req["k"]
        columns = {
            "result_qidxs": np.empty(k, np.int32),
            "result_docnos": np.empty(k, object),
            "result_ranks": np.empty(k, np.int32),
            "result_scores": np.empty(k, np.float32),
        }
        # Each the fastest of PISA's on gutenberg.
        algorithm = "block_max_maxscore"
        if req["mode"] == "and":
            algorithm = "block_max_ranked_and" if k <= 10 else "ranked_and"

        def once(words):
            query = {}
            for w in words.split(" "):
                query[w] = query.get(w, 0.0) + 1.0
            return PISA.retrieve(
                self.context, algorithm, [(0, query)], k=k, threads=1, pretokenised=1, query_weighted=0, **columns
            )

        queries = req["queries"]
        began, i = time.perf_counter(), 0
        while time.perf_counter() - began < req.get("warm", 0):
            once(queries[i % len(queries)])
            i += 1
        reps = 0
        ns = [1 << 62] * len(queries)
        hits = []
        began = time.perf_counter()
        while reps < req.get("reps", 0) and (reps == 0 or time.perf_counter() - began < req["budget"]):
            for i, words in enumerate(queries):
                start = time.perf_counter_ns()
                n = once(words)
                ns[i] = min(ns[i], time.perf_counter_ns() - start)
                if req.get("hits") and reps == 0:
                    ids, scores = columns["result_docnos"], columns["result_scores"]
                    hits.append([{"id": int(ids[j]), "score": float(scores[j])} for j in range(n)])
            reps += 1
        return {"ns": ns, "reps": reps, "hits": hits} if reps else {}


def main():
    # The extension reports progress on standard output, which is the protocol's: move ours away.
    out = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    opened = None
    for line in sys.stdin:
        req = json.loads(line)
        try:
            if req["op"] == "build":
                reply = build(req)
            elif req["op"] == "open":
                opened = Opened(req)
                reply = opened.reply
            elif req["op"] == "df":
                reply = opened.frequencies(req)
            else:
                reply = opened.run(req)
        except Exception as e:
            reply = {"error": f"{type(e).__name__}: {e}"}
        out.write(json.dumps(reply) + "\n")
        out.flush()


main()
