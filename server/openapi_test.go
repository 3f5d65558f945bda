package server

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
)

// pagePaths are those of the page, for people. The document describes all others.
var pagePaths = []string{"/{$}", "/why", "/inside", "/cluster", "/watch", "/assets/{file}"}

func readTheContract(t testing.TB) *contract {
	t.Helper()
	c, err := theContract()
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// TestOpenAPI: each route has an operation and each operation a route, with the role of the route.
func TestOpenAPI(t *testing.T) {
	c := readTheContract(t)
	routed := map[string]bool{}
	for _, rt := range routes {
		_, path, _ := strings.Cut(rt.pattern, " ")
		if slices.Contains(pagePaths, path) {
			continue
		}
		routed[rt.pattern] = true
		o := c.operations[rt.pattern]
		if o == nil {
			t.Errorf("%s is not in openapi.json", rt.pattern)
			continue
		}
		at, err := c.at(o.pointer)
		if err != nil {
			t.Fatal(err)
		}
		if at.object["x-role"] != rt.role.String() {
			t.Errorf("%s needs the role %v, and in openapi.json %v", rt.pattern, rt.role, at.object["x-role"])
		}
		if _, free := at.object["security"]; free != (rt.role == RoleNone) {
			t.Errorf("%s: in openapi.json \"security\": [] stands for the role none alone", rt.pattern)
		}
	}
	for pattern := range c.operations {
		if !routed[pattern] {
			t.Errorf("%s of openapi.json is not a route", pattern)
		}
	}
	if len(routed) < 20 {
		t.Errorf("only %d routes", len(routed))
	}
}

// TestOpenAPIIsWhole: operations have names of their own, what the path has are parameters, schemas compile, references
// lead to something that is used, and examples fit their schemas.
func TestOpenAPIIsWhole(t *testing.T) {
	c := readTheContract(t)
	ids := map[any]string{}
	for pattern, o := range c.operations {
		at, err := c.at(o.pointer)
		if err != nil {
			t.Fatal(err)
		}
		id := at.object["operationId"]
		if id == nil || ids[id] != "" {
			t.Errorf("%s: the operationId %v is missing, or that of %s, too", pattern, id, ids[id])
		}
		ids[id] = pattern
		var inPath []string
		for _, p := range o.parameters {
			if p.in == "path" {
				inPath = append(inPath, "{"+p.name+"}")
			}
			if _, err := c.schema(p.schema.pointer); err != nil {
				t.Errorf("%s: %v", pattern, err)
			}
		}
		for _, p := range inPath {
			if !strings.Contains(pattern, p) {
				t.Errorf("%s: the path has no %s", pattern, p)
			}
		}
		if strings.Count(strings.TrimSuffix(pattern, "{$}"), "{") != len(inPath) {
			t.Errorf("%s has the parameters %v", pattern, inPath)
		}
	}
	used := map[string]bool{"#/components/schemas/Problem": true}
	var walk func(pointer string, v any)
	walk = func(pointer string, v any) {
		switch v := v.(type) {
		case []any:
			for i := range v {
				walk(fmt.Sprintf("%s/%d", pointer, i), v[i])
			}
		case map[string]any:
			if ref, ok := v["$ref"].(string); ok {
				used[ref] = true
				if _, err := c.at(strings.TrimPrefix(ref, "#")); err != nil {
					t.Errorf("%s: %v", pointer, err)
				}
			}
			checkExamples(t, c, pointer, v)
			for _, name := range slices.Sorted(maps.Keys(v)) {
				if name != "example" && name != "examples" {
					walk(pointer+"/"+escapePointer(name), v[name])
				}
			}
		}
	}
	walk("", c.document)
	for kind, all := range c.document["components"].(map[string]any) {
		if kind == "securitySchemes" {
			continue
		}
		for name := range all.(map[string]any) {
			if !used["#/components/"+kind+"/"+name] {
				t.Errorf("nothing refers to %s %s", kind, name)
			}
			if kind != "schemas" {
				continue
			}
			if _, err := c.schema("/components/schemas/" + name); err != nil {
				t.Error(err)
			}
		}
	}
}

// checkExamples checks the examples of a media type or a parameter.
func checkExamples(t *testing.T, c *contract, pointer string, v map[string]any) {
	if _, ok := v["schema"]; !ok {
		return
	}
	var all []any
	if one, ok := v["example"]; ok {
		all = append(all, one)
	}
	if many, ok := v["examples"].(map[string]any); ok {
		for _, e := range many {
			all = append(all, e.(map[string]any)["value"])
		}
	}
	for _, e := range all {
		if strings.HasSuffix(pointer, "/application~1x-ndjson") {
			for line := range strings.Lines(e.(string)) {
				if err := c.validate(pointer+"/schema", []byte(line)); err != nil {
					t.Errorf("%s: %v", pointer, err)
				}
			}
			continue
		}
		if err := c.validateValue(pointer+"/schema", e); err != nil {
			t.Errorf("%s: %v", pointer, err)
		}
	}
}

// TestKinds: the document has the kinds of problems that the server has.
func TestKinds(t *testing.T) {
	c := readTheContract(t)
	at, err := c.at("/components/schemas/ProblemType")
	if err != nil {
		t.Fatal(err)
	}
	var described, have []string
	for _, k := range at.object["oneOf"].([]any) {
		k := k.(map[string]any)
		described = append(described, fmt.Sprintf("%v %v %q", k["const"], k["x-status"], k["title"]))
	}
	for _, k := range kinds {
		have = append(have, fmt.Sprintf("%v %v %q", k.urn(), k.status, k.title))
	}
	for _, k := range have {
		if !slices.Contains(described, k) {
			t.Errorf("ProblemType of openapi.json lacks %s", k)
		}
	}
	for _, k := range described {
		if !slices.Contains(have, k) {
			t.Errorf("ProblemType of openapi.json has %s, which the server has not", k)
		}
	}
}

// TestOpenAPIStats: the document names the figures of the engine.
func TestOpenAPIStats(t *testing.T) {
	c := readTheContract(t)
	s := newServer(t, nil)
	for _, text := range []string{"PUT /v1/indexes/a", "PUT /v1/indexes/a/documents/1\n{\"title\": \"x\"}", "POST /v1/indexes/a/compact"} {
		if res := send(s, readRequest(t, text)); res.StatusCode >= 300 {
			t.Fatal(text, printAnswer(t, res))
		}
	}
	w := httptest.NewRecorder()
	s.ServeHTTP(w, readRequest(t, "GET /v1/indexes/a/stats"))
	var served map[string]any
	if err := json.Unmarshal(w.Body.Bytes(), &served); err != nil {
		t.Fatal(err)
	}
	var compare func(name, pointer string, served any)
	compare = func(name, pointer string, served any) {
		at, err := c.at(pointer)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			return
		}
		switch served := served.(type) {
		case map[string]any:
			members, _ := at.object["properties"].(map[string]any)
			for m, v := range served {
				if members[m] == nil {
					t.Errorf("openapi.json does not describe %s.%s", name, m)
				} else if v != nil {
					compare(name+"."+m, at.pointer+"/properties/"+m, v)
				}
			}
			for m := range members {
				if _, ok := served[m]; !ok {
					t.Errorf("openapi.json describes %s.%s, which is not served", name, m)
				}
			}
		case []any:
			if len(served) > 0 {
				compare(name+"[]", at.pointer+"/items", served[0])
			}
		}
	}
	compare("stats", "/components/schemas/Stats", served)
}
