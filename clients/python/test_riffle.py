"""Tests of riffle.py against the server at $RIFFLE_URL, with the key $RIFFLE_KEY. TestPython of package server starts
one and runs them."""

import datetime
import http.server
import io
import os
import tarfile
import threading
import unittest
import urllib.error

import riffle

BOOKS = {
    "moby": {"title": "Moby Dick; or, The Whale", "author": {"name": "Melville"}, "year": 1851, "shelf": "sea"},
    "jungle": {"title": "The Jungle Book", "author": {"name": "Kipling"}, "year": 1894, "shelf": "land"},
    "leagues": {"title": "Twenty Thousand Leagues Under the Sea", "author": {"name": "Verne"}, "year": 1870, "shelf": "sea"},
}
SCHEMA = {"fields": {"title": {"type": "text", "analyzer": "english"}, "shelf": {"type": "keyword"},
                     "sold": {"type": "number", "no_index": True, "column": "stored"}}}
ODD = ["a/b", "..", ".", "...", "%2F", "%", "a b", "a+b", "?", "#", "a\\b", "ä€😀", "\u0001", "<&>", b"\xff", b"\xfe/\xff", "delete", "update"]


class TestRiffle(unittest.TestCase):
    def setUp(self):
        self.c = riffle.Client(os.environ["RIFFLE_URL"], key=os.environ.get("RIFFLE_KEY"))
        self.c.create_index("books", SCHEMA)
        self.addCleanup(self.c.drop_index, "books")

    def fill(self):
        self.assertEqual(self.c.apply("books", [riffle.put(id, doc) for id, doc in BOOKS.items()]), 3)

    def test_documents(self):
        self.fill()
        d = self.c.document("books", "moby")
        self.assertEqual(d["fields"]["author.name"], "Melville")
        self.c.update("books", "moby", {"sold": 4}, if_version=d["version"])
        with self.assertRaises(riffle.Problem) as raised:
            self.c.put("books", "moby", {"title": "x"}, if_version=d["version"])
        self.assertEqual((raised.exception.status, raised.exception.type), (412, "urn:riffle:problem:version"))
        with self.assertRaises(riffle.Problem):
            self.c.put("books", "moby", {"title": "x"}, if_version=0)
        self.assertEqual(self.c.document("books", "moby")["fields"]["sold"], 4)
        self.c.delete("books", "moby")
        with self.assertRaises(riffle.Problem) as raised:
            self.c.document("books", "moby")
        self.assertEqual(raised.exception.status, 404)
        id = self.c.add("books", {"title": "Typee"})
        self.assertEqual(self.c.document("books", id)["fields"], {"title": "Typee"})

    def test_values(self):
        at = datetime.datetime(1851, 10, 18, 12, 30)
        self.c.put("books", "v", {"at": at, "tags": ["a", "b"], "none": None, "flag": True, "n": 1.5})
        self.assertEqual(self.c.document("books", "v")["fields"],
                         {"at": "1851-10-18T12:30:00Z", "tags": ["a", "b"], "flag": True, "n": 1.5})

    def test_search(self):
        self.fill()
        a = self.c.search("books", query={"match": {"field": "title", "text": "whales"}}, load=["title"], highlight={"html": True})
        self.assertEqual([h["id"] for h in a["hits"]], ["moby"])
        self.assertIn("<mark>Whale</mark>", a["hits"][0]["fragments"]["title"][0]["html"])
        a = self.c.search("books", text="year:>1860", sort=["-year"], from_=1, aggregations={"shelves": {"terms": {"field": "shelf"}}})
        self.assertEqual([h["id"] for h in a["hits"]], ["leagues"])
        self.assertEqual(len(a["aggregations"]["shelves"]["buckets"]), 2)
        self.assertEqual({h["id"] for h in self.c.pages("books", k=1)}, set(BOOKS))
        self.assertEqual(self.c.search_text("books", "jungle", k=1, exact_total=True)["total"], 1)
        self.assertEqual(self.c.count("books", text="whale or jungle"), 2)
        a = self.c.search("books", text="whale", profile={"runs": 10})
        self.assertEqual([(l["term"], l["blocks"]["decoded"]) for l in a["profile"]["lists"] if l["field"] == "title"], [("whale", 1)])
        self.assertTrue(self.c.explain("books", "moby", text="whale")["matches"])
        self.assertEqual(self.c.suggest("books", "title", "wha")[0]["term"], "whale")
        self.assertEqual(self.c.terms("books", "title", "w")["terms"], [{"term": "whale", "documents": 1}])
        [found] = self.c.postings("books", "title", "whale", from_=0, limit=1)["lists"]
        self.assertEqual((found["documents"], len(found["ranges"])), (1, 1))
        self.assertIn("whale", [l.get("term") for l in self.c.cache("books")["lists"]])
        self.assertEqual([t["term"] for t in self.c.analyze("books", "The whales", field="title")], ["whale"])
        with self.assertRaises(riffle.Problem) as raised:
            self.c.search("books", text="title:(whale")
        self.assertEqual(raised.exception.members["offset"], 6)

    def test_bulk_and_export(self):
        changes = [riffle.put(str(i), {"title": f"Book {i}"}) for i in range(300)]
        changes[7] = riffle.put("bad", {"title": 7})
        failed = list(self.c.bulk("books", changes, size=2000))
        self.assertEqual([(f["line"], f["status"], f["problem"]["field"]) for f in failed], [(8, 400, "title")])
        ids = [d["id"] for d in self.c.export("books")]
        self.assertEqual(len(ids), 299)
        self.assertEqual(ids, sorted(ids))
        self.assertEqual([d["id"] for d in self.c.export("books", after="98")], ["98", "99"])

    def test_by_query(self):
        self.fill()
        self.assertEqual(self.c.update_by_query("books", {"shelf": "old"}, text="year:<1860")["changed"], 1)
        self.assertEqual(self.c.document("books", "moby")["fields"]["shelf"], "old")
        self.assertEqual(self.c.delete_by_query("books", query={"term": {"field": "shelf", "value": "old"}})["changed"], 1)
        self.assertEqual(self.c.count("books"), 2)

    def test_odd_ids(self):
        self.c.apply("books", [riffle.put(id, {"n": i}) for i, id in enumerate(ODD)])
        for i, id in enumerate(ODD):
            d = self.c.document("books", id)
            self.assertEqual((riffle.read_id(d["id"]), d["fields"]), (id, {"n": i}))
        self.assertEqual({riffle.read_id(d["id"]) for d in self.c.export("books")}, set(ODD))
        for id in ODD:
            self.c.delete("books", id)
        self.assertEqual(self.c.count("books"), 0)
        with self.assertRaises(ValueError):
            self.c.document("books", "")

    def test_indexes(self):
        self.fill()
        self.assertEqual([(x["name"], x["documents"]) for x in self.c.indexes()], [("books", 3)])
        self.assertEqual(self.c.schema("books")["fields"]["title"], {"type": "text", "analyzer": "english"})
        self.c.compact("books")
        self.assertEqual(self.c.stats("books")["docs"], 3)
        self.assertEqual([(e["kind"], e["documents"]) for e in self.c.history("books")], [("seal", 3)])
        out = io.BytesIO()
        self.c.checkpoint("books", out)
        out.seek(0)
        with tarfile.open(fileobj=out) as archive:
            self.assertTrue(any(name.startswith("books/") for name in archive.getnames()))

    def test_server(self):
        self.c.health()
        self.c.ready()
        self.assertEqual(self.c.openapi()["openapi"][:4], "3.1.")
        self.assertEqual(self.c.cluster(), {"nodes": [], "indexes": [], "faults": []})

    def test_methods(self):
        """Each operation of the document that is not for watching has a method here."""
        named = {"listIndexes": "indexes", "exportDocuments": "export", "getDocument": "document", "putDocument": "put",
                 "updateDocument": "update", "deleteDocument": "delete", "changeDocuments": "bulk", "searchText": "search_text",
                 "createIndex": "create_index", "dropIndex": "drop_index", "deleteByQuery": "delete_by_query", "updateByQuery": "update_by_query"}
        for path in self.c.openapi()["paths"].values():
            for operation in path.values():
                if operation["tags"] != ["watch"]:
                    name = operation["operationId"]
                    self.assertTrue(callable(getattr(self.c, named.get(name, name), None)), name)


class TestBusy(unittest.TestCase):
    def test_retry(self):
        """A busy server is asked again, with the same body; one that stays busy is a Problem."""
        bodies = []

        class Busy(http.server.BaseHTTPRequestHandler):
            def do_POST(self):
                bodies.append(self.rfile.read(int(self.headers["Content-Length"])))
                busy = len(bodies) != 2
                text = b'{"type": "urn:riffle:problem:busy", "title": "The server is busy", "status": 429}' if busy else b'{"count": 7}'
                self.send_response(429 if busy else 200)
                self.send_header("Retry-After", "0")
                self.send_header("Content-Length", str(len(text)))
                self.end_headers()
                self.wfile.write(text)

            def log_message(self, *args):
                pass

        server = http.server.HTTPServer(("127.0.0.1", 0), Busy)
        self.addCleanup(server.server_close)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        self.addCleanup(server.shutdown)
        c = riffle.Client(f"http://127.0.0.1:{server.server_port}", retries=2)
        self.assertEqual(c.count("books"), 7)
        self.assertEqual(bodies, [b"{}", b"{}"])
        with self.assertRaises(riffle.Problem) as raised:
            c.count("books")
        self.assertEqual(raised.exception.status, 429)
        self.assertEqual(len(bodies), 5)


class TestOnce(unittest.TestCase):
    def test_key(self):
        """A change whose connection breaks is sent again with its key; another change has another key, a search none."""
        keys = []

        class Breaks(http.server.BaseHTTPRequestHandler):
            def do_POST(self):
                self.rfile.read(int(self.headers["Content-Length"]))
                keys.append(self.headers.get("Idempotency-Key"))
                if len(keys) == 1:
                    self.close_connection = True
                    return
                under_way = len(keys) == 2
                text = b'{"type": "urn:riffle:problem:under-way", "status": 409}' if under_way else b'{"changes": 1, "hits": []}'
                self.send_response(409 if under_way else 200)
                self.send_header("Retry-After", "0")
                self.send_header("Content-Length", str(len(text)))
                self.end_headers()
                self.wfile.write(text)

            def log_message(self, *args):
                pass

        server = http.server.HTTPServer(("127.0.0.1", 0), Breaks)
        self.addCleanup(server.server_close)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        self.addCleanup(server.shutdown)
        c = riffle.Client(f"http://127.0.0.1:{server.server_port}", retries=2)
        c.put("books", "moby", {"title": "Moby Dick"})
        self.assertEqual(len(keys), 3)
        self.assertEqual(len(set(keys)), 1)
        self.assertTrue(keys[0])
        c.delete_by_query("books", text="whale")
        c.search("books", text="whale")
        self.assertEqual(len(keys), 5)
        self.assertNotIn(keys[3], (None, keys[0]))
        self.assertIsNone(keys[4])

    def test_refused(self):
        """A search whose connection breaks, and a change that nobody takes, fail at once."""
        server = http.server.HTTPServer(("127.0.0.1", 0), http.server.BaseHTTPRequestHandler)
        port = server.server_port
        server.server_close()
        with self.assertRaises(urllib.error.URLError):
            riffle.Client(f"http://127.0.0.1:{port}", retries=1000).put("books", "moby", {})


if __name__ == "__main__":
    unittest.main()
