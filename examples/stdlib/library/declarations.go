package library

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/build"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
)

// A declaration is one document: a function, a method, a type, a group of constants or variables,
// or the documentation of a package.
type declaration struct {
	ID      string  `riffle:"-"`                        // for example net/http.Server.Serve
	Name    string  `riffle:"name,analyzer=go"`         // Server.Serve
	Package string  `riffle:"package,keyword"`          // net/http, as a whole: a facet
	Path    string  `riffle:"path,analyzer=go,nostore"` // the same by its words
	Kind    string  `riffle:"kind,keyword"`             // package, func, method, type, const or var
	Doc     string  `riffle:"doc,analyzer=english"`
	Source  string  `riffle:"source,analyzer=go"`
	File    string  `riffle:"file,keyword"` // relative to GOROOT/src
	Line    int     `riffle:"line,noindex"`
	Rank    float64 `riffle:"rank,nostore"`
}

// maxSource is the maximum source text of one declaration: longer ones are tables.
const maxSource = 16 << 10

// packageDirs lists the folders of the standard library, without commands,
// vendored packages and test data.
func packageDirs(src string) ([]string, error) {
	var dirs []string
	err := filepath.WalkDir(src, func(p string, d fs.DirEntry, err error) error {
		if err != nil || !d.IsDir() {
			return err
		}
		switch name := d.Name(); {
		case name == "testdata", name == "vendor", p == filepath.Join(src, "cmd"), p != src && strings.HasPrefix(name, "."):
			return filepath.SkipDir
		}
		dirs = append(dirs, p)
		return nil
	})
	return dirs, err
}

// readPackage returns the declarations of the package in a folder, as built for
// this system and without its tests.
func readPackage(src, dir string) ([]declaration, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	rel, err := filepath.Rel(src, dir)
	if err != nil {
		return nil, err
	}
	r := reader{pkg: filepath.ToSlash(rel), seen: map[string]bool{}}
	for _, e := range entries {
		name := e.Name()
		if e.IsDir() || !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") {
			continue
		}
		if ok, err := build.Default.MatchFile(dir, name); err != nil || !ok {
			continue
		}
		text, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			return nil, err
		}
		r.fset, r.text, r.file = token.NewFileSet(), text, path.Join(r.pkg, name)
		file, err := parser.ParseFile(r.fset, r.file, text, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return nil, err
		}
		r.read(file)
	}
	return r.out, nil
}

// A reader takes one package apart, file by file.
type reader struct {
	pkg  string
	seen map[string]bool // ids so far
	out  []declaration

	fset *token.FileSet
	text []byte
	file string
}

func (r *reader) read(file *ast.File) {
	if file.Doc != nil && file.Name.Name != "main" {
		r.add("package", "", file.Doc, file.Doc)
	}
	for _, d := range file.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			if recv := receiver(d); recv != "" {
				r.add("method", recv+"."+d.Name.Name, d.Doc, d)
			} else {
				r.add("func", d.Name.Name, d.Doc, d)
			}
		case *ast.GenDecl:
			r.readGroup(d)
		}
	}
}

// readGroup makes a document of each type, and one of a whole group of constants
// or variables.
func (r *reader) readGroup(d *ast.GenDecl) {
	var names []string
	for _, spec := range d.Specs {
		switch spec := spec.(type) {
		case *ast.TypeSpec:
			if !d.Lparen.IsValid() {
				r.add("type", spec.Name.Name, d.Doc, d)
			} else {
				r.add("type", spec.Name.Name, spec.Doc, spec)
			}
		case *ast.ValueSpec:
			for _, n := range spec.Names {
				if n.Name != "_" {
					names = append(names, n.Name)
				}
			}
		}
	}
	if len(names) > 0 {
		r.add(d.Tok.String(), strings.Join(names, " "), d.Doc, d)
	}
}

func (r *reader) add(kind, name string, doc *ast.CommentGroup, node ast.Node) {
	pos := r.fset.Position(node.Pos())
	d := declaration{
		ID: r.pkg, Name: name, Package: r.pkg, Path: r.pkg, Kind: kind,
		File: r.file, Line: pos.Line, Rank: r.rank(kind, name),
	}
	if doc != nil {
		d.Doc = strings.TrimSpace(doc.Text())
	}
	if kind != "package" {
		first, _, _ := strings.Cut(name, " ")
		d.ID += "." + first
		d.Source = cut(r.text[pos.Offset:r.fset.Position(node.End()).Offset])
	}
	if r.seen[d.ID] { // for example, one of several init functions
		d.ID = fmt.Sprintf("%s (%s:%d)", d.ID, path.Base(r.file), d.Line)
	}
	r.seen[d.ID] = true
	r.out = append(r.out, d)
}

// rank says how likely a declaration is what a user looks for, before any query is known:
// declarations that programs can import rank above those that they cannot.
func (r *reader) rank(kind, name string) float64 {
	internal := strings.HasPrefix(r.pkg, "internal") || strings.Contains(r.pkg, "/internal")
	exported := kind == "package"
	for _, n := range strings.Fields(name) {
		exported = exported || exportedName(n)
	}
	switch {
	case internal && exported:
		return 0.2
	case internal:
		return 0
	case !exported:
		return 0.3
	case kind == "method":
		return 0.8
	}
	return 1
}

// exportedName reports whether all parts of Type.Method begin with a capital.
func exportedName(name string) bool {
	for part := range strings.SplitSeq(name, ".") {
		if !ast.IsExported(part) {
			return false
		}
	}
	return true
}

// receiver returns the name of a method's type, "" for a function.
func receiver(d *ast.FuncDecl) string {
	if d.Recv == nil || len(d.Recv.List) == 0 {
		return ""
	}
	t := d.Recv.List[0].Type
	for {
		switch x := t.(type) {
		case *ast.StarExpr:
			t = x.X
		case *ast.ParenExpr:
			t = x.X
		case *ast.IndexExpr: // Pointer[T]
			t = x.X
		case *ast.IndexListExpr:
			t = x.X
		case *ast.Ident:
			return x.Name
		default:
			return ""
		}
	}
}

// cut bounds a source text, at the end of a line.
func cut(source []byte) string {
	if len(source) > maxSource {
		source = source[:maxSource]
		if i := bytes.LastIndexByte(source, '\n'); i >= 0 {
			source = source[:i]
		}
	}
	return string(source)
}
