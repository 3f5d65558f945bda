"""A client of riffle's HTTP API: one file, for Python 3.9 and later, without dependencies.

    import riffle

    c = riffle.Client("http://localhost:7700", key="riffle_...")
    c.create_index("books", {"fields": {"title": {"type": "text", "analyzer": "english"}}})
    c.put("books", "moby", {"title": "Moby Dick", "year": 1851})
    for hit in c.search("books", text="whales", load=["title"])["hits"]:
        print(hit["id"], hit["fields"])

Answers are the objects of GET /v1/openapi.json as dictionaries. An error that the server answers with is raised as a
Problem. An id is a str, or bytes if it is not UTF-8. A server that is busy (429) is asked again after as long as it
says in Retry-After. Each change has an idempotency key, so that it is carried out once: if the connection breaks before
the answer has come, the change is sent again.
"""

from __future__ import annotations

import base64
import datetime
import http.client
import json
import random
import re
import time
import urllib.error
import urllib.parse
import urllib.request
import uuid
from typing import Any, BinaryIO, Dict, Iterable, Iterator, List, Optional, Union

__all__ = ["Client", "Problem", "put", "update", "delete"]

ID = Union[str, bytes]


class Problem(Exception):
    """What an answer says about an error: the problem details of RFC 9457.

    type is a URN such as "urn:riffle:problem:query", by which programs decide; status is that of the answer. members
    has all of the problem: part, id, field, offset, line and token say where the fault is.
    """

    def __init__(self, members: Dict[str, Any]):
        self.members = members
        self.type: str = members.get("type", "about:blank")
        self.title: str = members.get("title", "")
        self.status: int = members.get("status", 0)
        self.detail: str = members.get("detail", "")
        super().__init__(f"{self.title}: {self.detail}" if self.detail else self.title)


def _id(value: ID) -> Any:
    """Returns an id as JSON has it."""
    if isinstance(value, bytes):
        try:
            return value.decode("utf-8")
        except UnicodeDecodeError:
            return {"bytes": base64.b64encode(value).decode("ascii")}
    return value


def read_id(value: Any) -> ID:
    """Returns the id of an answer: a str, or bytes if it is not UTF-8."""
    return base64.b64decode(value["bytes"]) if isinstance(value, dict) else value


def _value(value: Any) -> Any:
    if isinstance(value, datetime.datetime):
        return {"time": value.isoformat() if value.tzinfo else value.isoformat() + "Z"}
    if isinstance(value, bytes):
        return {"bytes": base64.b64encode(value).decode("ascii")}
    if isinstance(value, (list, tuple)):
        return [_value(v) for v in value]
    return value


def _flat(fields: Dict[str, Any], prefix: str = "") -> Dict[str, Any]:
    """Returns the fields of a change, with flat names."""
    out: Dict[str, Any] = {}
    for name, value in fields.items():
        if isinstance(value, dict):
            out.update(_flat(value, prefix + name + "."))
        else:
            out[prefix + name] = _value(value)
    return out


def put(id: ID, fields: Dict[str, Any], if_version: Optional[int] = None) -> Dict[str, Any]:
    """A change that adds a document or replaces the one with its id. if_version is the version that the document must
    have, 0 for none. A nested dict is fields with dotted names; a datetime without a zone is UTC."""
    return _change({"put": _id(id), "fields": {k: v for k, v in _flat(fields).items() if v is not None}}, if_version)


def update(id: ID, fields: Dict[str, Any], if_version: Optional[int] = None) -> Dict[str, Any]:
    """A change that gives fields of a document other values; None removes a field."""
    return _change({"update": _id(id), "fields": _flat(fields)}, if_version)


def delete(id: ID, if_version: Optional[int] = None) -> Dict[str, Any]:
    """A change that deletes a document, if it exists."""
    return _change({"delete": _id(id)}, if_version)


def _change(change: Dict[str, Any], if_version: Optional[int]) -> Dict[str, Any]:
    if if_version is not None:
        change["if_version"] = if_version
    return change


class Client:
    """A client of the server at a URL. timeout is how many seconds it waits for the server to send something, and
    retries how often it asks a busy server again, or sends a change again whose connection has broken."""

    def __init__(self, base: str, key: Optional[str] = None, timeout: float = 60, retries: int = 5):
        self.base = base.rstrip("/")
        self.timeout = timeout
        self.retries = retries
        self._headers = {"Authorization": "Bearer " + key} if key else {}

    # Indexes

    def indexes(self) -> List[Dict[str, Any]]:
        """All indexes by name."""
        return self._json("GET", "/v1/indexes")["indexes"]

    def create_index(self, index: str, schema: Optional[Dict[str, Any]] = None, **members: Any) -> None:
        """Makes a new index. Without a schema each field is indexed by the kind of its values. On a server with a
        cluster, the other members are those of NewIndex: shards, replicas, log_copies, log_bytes, nodes."""
        if schema is not None:
            members["schema"] = schema
        self._json("PUT", _in(index), members)

    def cluster(self) -> Dict[str, Any]:
        """How the cluster of the server is doing: its nodes, and for each shard its log and its replicas."""
        return self._json("GET", "/v1/cluster")

    def drop_index(self, index: str) -> None:
        """Removes an index and its files."""
        self._json("DELETE", _in(index))

    def schema(self, index: str) -> Dict[str, Any]:
        return self._json("GET", _in(index, "schema"))

    def stats(self, index: str) -> Dict[str, Any]:
        """Figures about an index, in bytes where they are sizes."""
        return self._json("GET", _in(index, "stats"))

    def cache(self, index: str, limit: int = 100) -> Dict[str, Any]:
        """The cached lists that searches look up most."""
        return self._json("GET", _in(index, "cache"), params={"limit": limit})

    def history(self, index: str) -> List[Dict[str, Any]]:
        """The last seals and merges, the newest first."""
        return self._json("GET", _in(index, "history"))["events"]

    def compact(self, index: str) -> None:
        """Merges all segments into one."""
        self._json("POST", _in(index, "compact"))

    def checkpoint(self, index: str, to: BinaryIO) -> None:
        """Writes a copy of an index as a tar archive."""
        with self._open("GET", _in(index, "checkpoint")) as answer:
            while True:
                part = answer.read(1 << 20)
                if not part:
                    return
                to.write(part)

    # Documents

    def document(self, index: str, id: ID) -> Dict[str, Any]:
        """A document: its id, version and stored fields. One that does not exist is a Problem with the status 404."""
        return self._json("GET", _in(index, "documents", _part(id)))

    def put(self, index: str, id: ID, fields: Dict[str, Any], if_version: Optional[int] = None) -> None:
        """Adds a document, or replaces the one with its id; see the function put."""
        self.apply(index, [put(id, fields, if_version)])

    def update(self, index: str, id: ID, fields: Dict[str, Any], if_version: Optional[int] = None) -> None:
        """Gives fields of a document other values; see the function update."""
        self.apply(index, [update(id, fields, if_version)])

    def delete(self, index: str, id: ID, if_version: Optional[int] = None) -> None:
        """Deletes a document, if it exists."""
        headers = {}
        if if_version is not None:
            headers = {"If-Match": f'"{if_version}"'} if if_version else {"If-None-Match": "*"}
        self._json("DELETE", _in(index, "documents", _part(id)), headers=headers)

    def add(self, index: str, fields: Dict[str, Any]) -> str:
        """Puts a document under a new id, and returns that."""
        return self._json("POST", _in(index, "documents"), fields)["id"]

    def apply(self, index: str, changes: Iterable[Dict[str, Any]]) -> int:
        """Carries out all changes, made by put, update and delete, or none."""
        return self._json("POST", _in(index, "documents"), list(changes))["changes"]

    def bulk(self, index: str, changes: Iterable[Dict[str, Any]], size: int = 4 << 20) -> Iterator[Dict[str, Any]]:
        """Carries out any number of changes, each for itself, in bodies of about size bytes. It yields the result of
        each change that failed: its line, from 1 on over all bodies, its status, and its problem. Nothing is sent
        unless the results are read:

            for failed in c.bulk("books", changes): ...
        """
        lines: List[bytes] = []
        length = done = 0
        for change in changes:
            line = json.dumps(change, ensure_ascii=False).encode("utf-8") + b"\n"
            if lines and length + len(line) > size:
                yield from self._lines(index, lines, done)
                done += len(lines)
                lines, length = [], 0
            lines.append(line)
            length += len(line)
        if lines:
            yield from self._lines(index, lines, done)

    def _lines(self, index: str, lines: List[bytes], done: int) -> Iterator[Dict[str, Any]]:
        headers = {"Content-Type": "application/x-ndjson"}
        with self._open("POST", _in(index, "documents"), data=b"".join(lines), headers=headers) as answer:
            for text in answer:
                result = json.loads(text)
                if "line" not in result:
                    return
                if result["status"] != 200:
                    result["line"] += done
                    yield result
        raise ConnectionError(f"the results of changes {done + 1} to {done + len(lines)} have been cut off")

    def export(self, index: str, after: Optional[ID] = None) -> Iterator[Dict[str, Any]]:
        """All documents in the order of their ids, from an id on. An answer that was cut off raises an exception."""
        params = {} if after is None else {"from": after}
        with self._open("GET", _in(index, "documents"), params) as answer:
            for line in answer:
                yield json.loads(line)

    def delete_by_query(self, index: str, **members: Any) -> Dict[str, Any]:
        """Deletes the documents that match query (a dict) or text (a str or a dict)."""
        return self._json("POST", _in(index, "documents", "delete"), _text(members))

    def update_by_query(self, index: str, set: Dict[str, Any], **members: Any) -> Dict[str, Any]:
        """Gives fields of the documents that match query or text other values; None removes a field."""
        return self._json("POST", _in(index, "documents", "update"), _text({**members, "set": set}))

    # Search

    def search(self, index: str, **members: Any) -> Dict[str, Any]:
        """The best documents for query (a dict) or text (a str or a dict); the other members are those of
        SearchRequest: k, sort, load, highlight, aggregations, profile ... ("from" as from_)."""
        return self._json("POST", _in(index, "search"), _text(members))

    def pages(self, index: str, **members: Any) -> Iterator[Dict[str, Any]]:
        """All hits of a search, page by page of k hits."""
        while True:
            answer = self.search(index, **members)
            yield from answer["hits"]
            if not answer["hits"]:
                return
            members["after"] = answer["hits"][-1]["cursor"]

    def search_text(self, index: str, q: str, **params: Any) -> Dict[str, Any]:
        """The best documents for a text in the query language, by GET."""
        return self._json("GET", _in(index, "search"), params={**params, "q": q})

    def count(self, index: str, **members: Any) -> int:
        """How many documents match query or text."""
        return self._json("POST", _in(index, "count"), _text(members))["count"]

    def explain(self, index: str, id: ID, **members: Any) -> Dict[str, Any]:
        """How a document gets its score for query or text."""
        return self._json("POST", _in(index, "explain"), _text({**members, "id": _id(id)}))

    def suggest(self, index: str, field: str, q: str, limit: int = 10) -> List[Dict[str, Any]]:
        """Completions and corrections of a word."""
        return self._json("GET", _in(index, "suggest"), params={"field": field, "q": q, "limit": limit})["suggestions"]

    def terms(self, index: str, field: str, prefix: str = "", limit: int = 100) -> Dict[str, Any]:
        """Terms of a field, and whether there are more."""
        return self._json("GET", _in(index, "terms"), params={"field": field, "prefix": prefix, "limit": limit})

    def postings(self, index: str, field: str, term: str, **params: Any) -> Dict[str, Any]:
        """The lists of a term, block by block, with the parameters segment, level, from_ and limit."""
        if "from_" in params:
            params["from"] = params.pop("from_")
        return self._json("GET", _in(index, "postings"), params={**params, "field": field, "term": term})

    def analyze(self, index: str, text: str, **members: Any) -> List[Dict[str, Any]]:
        """The tokens of a text, by field or analyzer."""
        return self._json("POST", _in(index, "analyze"), {**members, "text": text})["tokens"]

    # The server

    def health(self) -> None:
        """Raises an exception if the server does not run."""
        self._json("GET", "/healthz")

    def ready(self) -> None:
        """Raises an exception if the server takes no requests."""
        self._json("GET", "/readyz")

    def openapi(self) -> Dict[str, Any]:
        """The document that describes the server."""
        return self._json("GET", "/v1/openapi.json")

    def _json(self, method: str, path: str, body: Any = None, params: Optional[Dict[str, Any]] = None,
              headers: Optional[Dict[str, str]] = None) -> Any:
        data, headers = None, dict(headers or {})
        if body is not None:
            data = json.dumps(body).encode("utf-8")
            headers["Content-Type"] = "application/json"
        with self._open(method, path, params, data, headers) as answer:
            text = answer.read()
        return json.loads(text) if text else None

    def _open(self, method: str, path: str, params: Optional[Dict[str, Any]] = None, data: Optional[bytes] = None,
              headers: Optional[Dict[str, str]] = None) -> Any:
        url = self.base + path
        if params:
            texts = {k: str(v).lower() if isinstance(v, bool) else v for k, v in params.items()}
            url += "?" + urllib.parse.urlencode(texts)
        headers = {**self._headers, **(headers or {})}
        change = method in ("PUT", "PATCH", "DELETE") or method == "POST" and _CHANGES.search(path) is not None
        if change:
            headers["Idempotency-Key"] = uuid.uuid4().hex
        for left in range(self.retries, -1, -1):
            request = urllib.request.Request(url, data, headers, method=method)
            try:
                return urllib.request.urlopen(request, timeout=self.timeout)
            except urllib.error.HTTPError as error:
                with error:
                    problem = _problem(error)
                    after = error.headers.get("Retry-After", "1")
                again = error.code == 429 or change and problem.type in _UNDER_WAY
                if not again or left == 0:
                    raise problem from None
            except (http.client.HTTPException, ConnectionError):
                if not change or left == 0:
                    raise
                after = "1"
            except urllib.error.URLError as error:
                # A refused connection has sent nothing, and another try would most likely be refused, too.
                broken = isinstance(error.reason, ConnectionError) and not isinstance(error.reason, ConnectionRefusedError)
                if not broken or not change or left == 0:
                    raise
                after = "1"
            seconds = int(after) if after.isdigit() else 1
            time.sleep(seconds * (1 + random.random() / 2))
        raise AssertionError("unreachable")


# Paths by which a POST changes an index.
_CHANGES = re.compile(r"/(documents(/delete|/update)?|compact)$")

# Problems of a change that was sent before and is not done yet.
_UNDER_WAY = ("urn:riffle:problem:under-way", "urn:riffle:problem:pending")


def _in(index: str, *parts: str) -> str:
    return "/".join(["/v1/indexes", _part(index), *parts])


def _part(part: ID) -> str:
    """Returns a part of a path, percent-encoded."""
    if not part:
        raise ValueError("an id and the name of an index must not be empty")
    text = urllib.parse.quote(part, safe="")
    return text.replace(".", "%2E") if text in (".", "..") else text


def _text(members: Dict[str, Any]) -> Dict[str, Any]:
    out = {name.rstrip("_"): value for name, value in members.items()}
    if isinstance(out.get("text"), str):
        out["text"] = {"text": out["text"]}
    return out


def _problem(error: urllib.error.HTTPError) -> Problem:
    try:
        members = json.loads(error.read())
        if isinstance(members, dict) and "status" in members:
            return Problem(members)
    except (ValueError, OSError):
        pass
    return Problem({"title": error.reason, "status": error.code})
