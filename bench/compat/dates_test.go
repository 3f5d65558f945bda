package compat

import (
	"encoding/json"
	"reflect"
	"testing"
	"time"

	upstream "github.com/blevesearch/bleve/v2"
	"github.com/blevesearch/bleve/v2/index/scorch"

	"github.com/riffle-search/riffle/compat/bleve"
)

// TestDateStyles reads dates by layouts of all kinds, some of which are errors, and compares what is stored of them.
func TestDateStyles(t *testing.T) {
	layouts := map[string][]string{
		"isostyle": {
			"yyyy-MM-dd", "yy/M/d HH:mm:ss", "uuuu.MMM.dd hh:mm a", "EEEE, d MMMM YYYY K 'o''clock' aa", "yyyy-MM-dd'T'HH:mm:ss.SSSXXX", "yyyy-MM-dd''HH z", "yyyyy-MM-dd",
			"dd.MM.yyyy H:m:s x", "yyyyMMdd XX", "y xxx", "EE d MMM yy", "yyyy-MM-dd XXXXX", "yyyy-MM-dd XXXX xxxx xxxxx xx", "SSSSSSSSS yyyy", "MMMMM", "hhh", "zzzzz", "SSSSSSSSSS", "G", "'open",
			"mmm", "EEEEE", "aaa", "é yyyy", "",
		},
		"percentstyle": {
			"%Y-%m-%d", "%y/%o/%e %H:%M:%S", "%A, %d %B %Y %I:%M %p", "%a %d %b %y %l:%i:%s %P", "%Y-%m-%d %z", "%Y %z:M", "%Y %z:S", "%Y %zH", "%Y %zS", "%Y %z:", "%Y %z:X", "%Y %zX",
			"%Y %Z", "%H:%M:%S.%f %Y", "%S.%N %Y", "100%% %Y", "%", "%Q", "%Y%", "é %Y", "",
		},
		"sanitizedgo": {"2006-01-02", "02 Jan 06 15:04 MST", "Monday, 2 January 2006 3:04PM", "2006-01-02T15:04:05.999Z07:00", "2006x01", "20060102", "Mon Jan _2 15:04:05 2006", "é 2006", ""},
		"flexiblego":  {"2006-01-02", "2006x01", "é 2006"},
	}
	at := time.Date(2026, 11, 4, 15, 6, 7, 123456789, time.FixedZone("CET", 3600))
	read := 0
	for typ, list := range layouts {
		for _, layout := range list {
			mapping, err := json.Marshal(map[string]any{
				"analysis":        map[string]any{"date_time_parsers": map[string]any{"own": map[string]any{"type": typ, "layouts": []any{layout, 5}}}},
				"default_mapping": map[string]any{"properties": map[string]any{"at": map[string]any{"fields": []any{map[string]any{"type": "datetime", "date_format": "own", "store": true, "index": true}}}}},
			})
			if err != nil {
				t.Fatal(err)
			}
			im := upstream.NewIndexMapping()
			theirErr := json.Unmarshal(mapping, im)
			m, err := bleve.ParseMapping(mapping)
			if (err == nil) != (theirErr == nil) {
				t.Errorf("%s %q: %v, bleve %v", typ, layout, err, theirErr)
			}
			if err != nil || theirErr != nil {
				continue
			}
			theirs, err := upstream.NewUsing("", im, scorch.Name, scorch.Name, nil)
			if err != nil {
				t.Fatal(err)
			}
			defer theirs.Close()
			theirs.SetName("x")
			ours := open(t, m, "x")
			texts := []string{
				"2026-11-04", "26/11/4 15:06:07", "2026.Nov.04 03:06 PM", "Wednesday, 4 November 2026 3 o'clock pm", "2026-11-04T15:06:07.123+01:00", "2026-11-04'15 CET", "04.11.2026 15:6:7 +01",
				"20261104 +0100", "2026 +01:00", "Wed 4 Nov 26", "2026-11-04 +01:00:00", "123456789 2026", "26/11/4 15:06:07", "Wednesday, 04 November 2026 03:06 PM", "Wed 04 Nov 26 3:6:7 pm", "2026-11-04 +0100",
				"2026 +01:00:00", "2026 +01", "2026 +010000", "2026 +0100:", "2026 +0100X", "2026 CET", "15:06:07.123456 2026", "7.123456789 2026", "100% 2026", "2026", "é 2026", " 2026-11-04",
				"04 Nov 26 15:06 CET", "Wednesday, 4 November 2026 3:06PM", "Wed Nov  4 15:06:07 2026", "2026x11", "", at.Format(time.RFC3339Nano),
			}
			doc := map[string]any{"at": texts}
			if err := theirs.Index("1", doc); err != nil {
				t.Fatal(err)
			}
			encoded, err := json.Marshal(doc)
			if err != nil {
				t.Fatal(err)
			}
			if err := ours.Put(t.Context(), bleve.Document{ID: "1", JSON: encoded}); err != nil {
				t.Fatal(err)
			}
			for _, request := range []string{
				`{"query": {"match_all": {}}, "fields": ["*"]}`, `{"query": {"start": "2026", "field": "at", "datetime_parser": "own"}, "fields": ["at"]}`,
				`{"query": {"start": "2026-11-04", "end": "2026-11-05", "field": "at"}, "fields": ["at"]}`,
			} {
				var r upstream.SearchRequest
				if err := json.Unmarshal([]byte(request), &r); err != nil {
					t.Fatal(err)
				}
				want, theirErr := theirs.Search(&r)
				got, err := ours.Search(t.Context(), []byte(request))
				if (err == nil) != (theirErr == nil) {
					t.Errorf("%s %q: %s: %v, bleve %v", typ, layout, request, err, theirErr)
				}
				if err != nil || theirErr != nil {
					continue
				}
				a, b := plain(t, got), plain(t, want)
				if !reflect.DeepEqual(a, b) {
					t.Errorf("%s %q: %s: %s", typ, layout, request, difference(a, b))
				}
				if len(got.Hits) > 0 && got.Hits[0].Fields["at"] != nil {
					read++
				}
			}
		}
	}
	if t.Logf("%d answers with dates", read); read < 40 {
		t.Error("too few to compare")
	}
}
