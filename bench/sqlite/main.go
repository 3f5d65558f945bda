// Command sqlite runs SQLite's FTS5 under the comparison's protocol. It must be
// built with -tags sqlite_fts5, with cgo.
package main

import (
	"database/sql"
	"errors"
	"os"
	"path/filepath"
	"strings"

	_ "github.com/mattn/go-sqlite3" // the driver

	"github.com/riffle-search/riffle/bench/protocol"
)

func main() { protocol.Serve(&engine{}) }

type engine struct {
	db         *sql.DB
	top, count *sql.Stmt
}

// table keeps no positions and no text. The tokenizer splits at spaces: bytes
// above 127 are parts of tokens to "ascii" anyway, and tokenchars makes parts of
// all printable ASCII but the space.
func table() string {
	var marks strings.Builder
	for c := '!'; c <= '~'; c++ {
		switch {
		case c >= '0' && c <= '9', c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z':
		case c == '\'':
			marks.WriteString("''''") // one quote, inside a quoted argument inside a quoted option
		case c == '"':
			marks.WriteString(`""`)
		default:
			marks.WriteRune(c)
		}
	}
	return `create virtual table t using fts5(text, content='', detail=none, tokenize="ascii tokenchars '` + marks.String() + `'")`
}

func open(dir, how string) (*sql.DB, error) {
	db, err := sql.Open("sqlite3", "file:"+filepath.Join(dir, "fts.db")+how)
	if err == nil {
		db.SetMaxOpenConns(1)
	}
	return db, err
}

func (e *engine) Build(docs, dir string, _ map[string]string) (n int, err error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return 0, err
	}
	db, err := open(dir, "?_sync=0&_journal=OFF&_locking=EXCLUSIVE")
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	if _, err := db.Exec(table()); err != nil {
		return 0, err
	}
	if _, err := db.Exec(`insert into t(t, rank) values('hashsize', ?)`, 256<<20); err != nil {
		return 0, err
	}
	tx, err := db.Begin()
	if err != nil {
		return 0, err
	}
	insert, err := tx.Prepare(`insert into t(rowid, text) values(?, ?)`)
	if err != nil {
		return 0, err
	}
	n, err = protocol.ReadLines(docs, func(n int, line []byte) error {
		_, err := insert.Exec(n, string(line))
		return err
	})
	if err != nil {
		return n, err
	}
	if err := tx.Commit(); err != nil {
		return n, err
	}
	if _, err := db.Exec(`insert into t(t) values('optimize')`); err != nil { // one b-tree
		return n, err
	}
	_, err = db.Exec(`vacuum`)
	return n, err
}

func (e *engine) Open(dir string, _ map[string]string) (protocol.Reply, error) {
	reply := protocol.Reply{Segments: 1}
	var err error
	if e.db, err = open(dir, "?mode=ro&_cache_size=-1000000"); err != nil {
		return reply, err
	}
	if _, err = e.db.Exec(`pragma mmap_size=4294967296`); err != nil {
		return reply, err
	}
	if e.top, err = e.db.Prepare(`select rowid, rank from t where t match ? order by rank limit ?`); err != nil {
		return reply, err
	}
	if e.count, err = e.db.Prepare(`select count(*) from t where t match ?`); err != nil {
		return reply, err
	}
	if err = e.db.QueryRow(`select 'SQLite ' || sqlite_version() || ' FTS5', count(*) from t_docsize`).Scan(&reply.Version, &reply.Docs); err != nil {
		return reply, err
	}
	if _, err = e.db.Exec(`create virtual table temp.v using fts5vocab(main, t, row)`); err != nil {
		return reply, err
	}
	return reply, e.db.QueryRow(`select count(*) from v`).Scan(&reply.Terms)
}

func (e *engine) DF(term string) (int, error) { return e.Count(term, false) }

// words writes a query in FTS5's language: quoted, so that no token is an operator.
func words(q string, and bool) string {
	between := `" OR "`
	if and {
		between = `" AND "`
	}
	return `"` + strings.ReplaceAll(strings.ReplaceAll(q, `"`, `""`), " ", between) + `"`
}

// Top's ranks are FTS5's own BM25, negated, with k1 = 1.2 and b = 0.75.
func (e *engine) Top(q string, and bool, k int, count bool, dst []protocol.Hit) ([]protocol.Hit, int, error) {
	rows, err := e.top.Query(words(q, and), k)
	if err != nil {
		return dst, 0, err
	}
	defer rows.Close()
	for rows.Next() {
		var h protocol.Hit
		if err := rows.Scan(&h.ID, &h.Score); err != nil {
			return dst, 0, err
		}
		h.Score = -h.Score
		dst = append(dst, h)
	}
	if err := rows.Err(); err != nil || !count {
		return dst, 0, err
	}
	rows.Close()
	n, err := e.Count(q, and)
	return dst, n, err
}

func (e *engine) Count(q string, and bool) (n int, err error) {
	return n, e.count.QueryRow(words(q, and)).Scan(&n)
}
