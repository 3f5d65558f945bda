package server

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"mime"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// A contract holds requests and answers against the OpenAPI document.
type contract struct {
	document   map[string]any
	mux        *http.ServeMux        // finds the operation of a request
	operations map[string]*operation // by pattern

	mu       sync.Mutex
	compiler *jsonschema.Compiler
	schemas  map[string]*jsonschema.Schema // by JSON pointer
}

// An operation is one of the document, with references to parameters and responses followed.
type operation struct {
	pattern, pointer string
	body             map[string]any
	parameters       []parameter
	responses        map[string]place
}

type parameter struct {
	name, in string
	required bool
	schema   place
}

// A place is an object of the document and its JSON pointer.
type place struct {
	object  map[string]any
	pointer string
}

// theContract is read once: to compile the schemas takes longer than many a test.
var theContract = sync.OnceValues(func() (*contract, error) { return readContract(openAPI) })

func readContract(text []byte) (*contract, error) {
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		return nil, err
	}
	c := &contract{document: value.(map[string]any), mux: http.NewServeMux(), operations: map[string]*operation{}, schemas: map[string]*jsonschema.Schema{}}
	c.compiler = jsonschema.NewCompiler()
	c.compiler.AssertFormat()
	if err := c.compiler.AddResource("openapi.json", value); err != nil {
		return nil, err
	}
	paths := c.document["paths"].(map[string]any)
	for _, path := range slices.Sorted(maps.Keys(paths)) {
		for method := range paths[path].(map[string]any) {
			if err := c.addOperation(method, path); err != nil {
				return nil, fmt.Errorf("%s %s: %w", method, path, err)
			}
		}
	}
	return c, nil
}

func (c *contract) addOperation(method, path string) error {
	at, err := c.at("/paths/" + escapePointer(path) + "/" + method)
	if err != nil {
		return err
	}
	if strings.HasSuffix(path, "/") {
		path += "{$}" // for http.ServeMux, all paths below otherwise
	}
	o := &operation{pattern: strings.ToUpper(method) + " " + path, pointer: at.pointer, responses: map[string]place{}}
	o.body, _ = at.object["requestBody"].(map[string]any)
	list, _ := at.object["parameters"].([]any)
	for i := range list {
		p, err := c.at(fmt.Sprintf("%s/parameters/%d", at.pointer, i))
		if err != nil {
			return err
		}
		required, _ := p.object["required"].(bool)
		o.parameters = append(o.parameters, parameter{p.object["name"].(string), p.object["in"].(string), required, place{pointer: p.pointer + "/schema"}})
	}
	for status := range at.object["responses"].(map[string]any) {
		if o.responses[status], err = c.at(at.pointer + "/responses/" + status); err != nil {
			return err
		}
	}
	c.operations[o.pattern] = o
	c.mux.HandleFunc(o.pattern, func(w http.ResponseWriter, r *http.Request) {
		found := w.(*match)
		found.operation, found.request = o, r
	})
	return nil
}

// escapePointer writes a name as a part of a JSON pointer.
func escapePointer(name string) string {
	return strings.NewReplacer("~", "~0", "/", "~1").Replace(name)
}

// at returns the object at a JSON pointer, with references followed.
func (c *contract) at(pointer string) (place, error) {
	var v any = c.document
	for part := range strings.SplitSeq(strings.TrimPrefix(pointer, "/"), "/") {
		part = strings.NewReplacer("~1", "/", "~0", "~").Replace(part)
		switch in := v.(type) {
		case map[string]any:
			v = in[part]
		case []any:
			i, err := strconv.Atoi(part)
			if err != nil || i >= len(in) {
				return place{}, fmt.Errorf("%s: there is no element %s", pointer, part)
			}
			v = in[i]
		default:
			v = nil
		}
	}
	object, ok := v.(map[string]any)
	if !ok {
		return place{}, fmt.Errorf("%s: there is no object", pointer)
	}
	if ref, ok := object["$ref"].(string); ok {
		return c.at(strings.TrimPrefix(ref, "#"))
	}
	return place{object, pointer}, nil
}

// schema returns the compiled schema at a JSON pointer.
func (c *contract) schema(pointer string) (*jsonschema.Schema, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if s := c.schemas[pointer]; s != nil {
		return s, nil
	}
	s, err := c.compiler.Compile("openapi.json#" + strings.NewReplacer("%", "%25", "{", "%7B", "}", "%7D").Replace(pointer))
	if err != nil {
		return nil, err
	}
	c.schemas[pointer] = s
	return s, nil
}

// validate checks a text of JSON.
func (c *contract) validate(pointer string, text []byte) error {
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		return fmt.Errorf("%s: %w", text, err)
	}
	return c.validateValue(pointer, value)
}

func (c *contract) validateValue(pointer string, value any) error {
	s, err := c.schema(pointer)
	if err != nil {
		return err
	}
	if err := s.Validate(value); err != nil {
		return fmt.Errorf("%v: %w", value, err)
	}
	return nil
}

// A match is the answer of the contract's mux.
type match struct {
	discarded
	operation *operation
	request   *http.Request // with path values
}

// find returns the operation of a request.
func (c *contract) find(r *http.Request) *match {
	m := new(match)
	r = forSlashID(r)
	method := r.Method
	if method == http.MethodHead {
		method = http.MethodGet
	}
	c.mux.ServeHTTP(m, &http.Request{Method: method, URL: r.URL, Host: r.Host, Header: r.Header})
	return m
}

// checkAnswer holds an answer against the operation of its request.
func (c *contract) checkAnswer(r *http.Request, status int, header http.Header, body []byte) error {
	o := c.find(r).operation
	if o == nil { // nothing at this path, another method, or a path that is cleaned first
		if status >= 300 && status < 400 {
			return nil
		}
		if status < 400 {
			return fmt.Errorf("the answer is %d, and the document has no such operation", status)
		}
		return c.validate("/components/schemas/Problem", body)
	}
	response, ok := o.responses[strconv.Itoa(status)]
	if !ok && status < 400 {
		return fmt.Errorf("%s: the document has no answer %d", o.pattern, status)
	}
	if !ok {
		response = o.responses["default"]
	}
	content, ok := response.object["content"].(map[string]any)
	if !ok {
		if len(body) > 0 {
			return fmt.Errorf("%s: answer %d has a body, and none in the document", o.pattern, status)
		}
		return nil
	}
	if r.Method == http.MethodHead {
		return nil
	}
	media, _, err := mime.ParseMediaType(header.Get("Content-Type"))
	if err != nil {
		return fmt.Errorf("%s: answer %d: media type %q: %w", o.pattern, status, header.Get("Content-Type"), err)
	}
	if content[media] == nil {
		return fmt.Errorf("%s: answer %d: the document has no %s", o.pattern, status, media)
	}
	pointer := response.pointer + "/content/" + escapePointer(media) + "/schema"
	switch media {
	case "application/json", "application/problem+json":
		return named(o, status, c.validate(pointer, body))
	case "application/x-ndjson":
		for line := range bytes.Lines(body) {
			if err := c.validate(pointer, line); err != nil {
				return named(o, status, err)
			}
		}
	}
	return nil
}

func named(o *operation, status int, err error) error {
	if err != nil {
		return fmt.Errorf("%s: answer %d: %w", o.pattern, status, err)
	}
	return nil
}

// checkRequest holds a request that the server has carried out against its operation. Of a body of NDJSON the lines
// whose result was 200 count.
func (c *contract) checkRequest(r *http.Request, body, answer []byte) error {
	m := c.find(r)
	o := m.operation
	if o == nil {
		return fmt.Errorf("the document has no operation for %s %s", r.Method, r.URL.Path)
	}
	query := r.URL.Query()
	known := map[string]bool{}
	for _, p := range o.parameters {
		var values []string
		switch p.in {
		case "path":
			values = []string{m.request.PathValue(p.name)}
		case "query":
			values, known[p.name] = query[p.name], true
		case "header":
			values = r.Header.Values(p.name)
		}
		if len(values) == 0 && p.required {
			return fmt.Errorf("%s: parameter %s is missing", o.pattern, p.name)
		}
		for _, text := range values {
			if err := c.checkParameter(p, text); err != nil {
				return fmt.Errorf("%s: parameter %s: %w", o.pattern, p.name, err)
			}
		}
	}
	for name := range query {
		if !known[name] {
			return fmt.Errorf("%s: the document has no parameter %s", o.pattern, name)
		}
	}
	if len(body) == 0 {
		if required, _ := o.body["required"].(bool); required {
			return fmt.Errorf("%s: a body is required", o.pattern)
		}
		return nil
	}
	if o.body == nil {
		return fmt.Errorf("%s: the document has no body", o.pattern)
	}
	media, err := mediaType(r)
	if err != nil {
		return err
	}
	if o.body["content"].(map[string]any)[media] == nil {
		return fmt.Errorf("%s: the document has no body of %s", o.pattern, media)
	}
	pointer := o.pointer + "/requestBody/content/" + escapePointer(media) + "/schema"
	if media == "application/json" {
		return named(o, 0, c.validate(pointer, body))
	}
	lines := bytes.Split(body, []byte("\n"))
	for result := range bytes.Lines(answer) {
		var of struct{ Line, Status int }
		if err := json.Unmarshal(result, &of); err != nil {
			return err
		}
		if of.Status == http.StatusOK {
			if err := c.validate(pointer, lines[of.Line-1]); err != nil {
				return fmt.Errorf("%s: line %d: %w", o.pattern, of.Line, err)
			}
		}
	}
	return nil
}

// checkParameter checks the text of a parameter as a value of the type that its schema has.
func (c *contract) checkParameter(p parameter, text string) error {
	at, err := c.at(p.schema.pointer)
	if err != nil {
		return err
	}
	var value any = text
	switch at.object["type"] {
	case "integer":
		value = json.Number(text)
	case "boolean":
		if value, err = strconv.ParseBool(text); err != nil {
			return err
		}
	}
	return c.validateValue(p.schema.pointer, value)
}

// readAll reads a body and puts it back.
func readAll(body *io.ReadCloser) ([]byte, error) {
	data, err := io.ReadAll(*body)
	*body = io.NopCloser(bytes.NewReader(data))
	return data, err
}
