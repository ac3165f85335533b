package httpapi

import (
	"bytes"
	"encoding"
	"encoding/json"
	"go/ast"
	"go/parser"
	gotoken "go/token"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/seed-2a7f8fe7/coder/internal/httpapi/rest"
)

// TestOpenAPI keeps api/openapi.json, from which the dashboard's types are
// made, true to the route table: paths, body types with their JSON fields, and
// the values of enumerations and the comments of fields as typePackages
// declare them.
func TestOpenAPI(t *testing.T) {
	const golden = "../../api/openapi.json"
	d := &openapi{schemas: map[string]any{}}
	d.enums, d.comments = declared(t)
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", " ")
	if err := enc.Encode(d.document(everyRoute())); err != nil {
		t.Fatal(err)
	}
	if *update {
		if err := os.WriteFile(golden, out.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(want, out.Bytes()) {
		t.Errorf("the routes or their types changed; run this test with -update, then make generate\n%s", firstDifference(string(want), out.String()))
	}
}

// openapi collects the schemas that operations name.
type openapi struct {
	schemas  map[string]any
	enums    map[string][]string
	comments map[string]string // of fields, as Type.Field
}

type object = map[string]any

var pathVariable = regexp.MustCompile(`\{(\w+)\.*\}`)

func (d *openapi) document(routes []rest.Route) object {
	paths := map[string]object{}
	for _, r := range routes {
		path := Prefix + r.Path
		if paths[path] == nil {
			paths[path] = object{}
		}
		paths[path][strings.ToLower(r.Method)] = d.operation(r)
	}
	return object{
		"openapi":    "3.1.0",
		"info":       object{"title": "coder", "version": "2"},
		"paths":      paths,
		"components": object{"schemas": d.schemas},
	}
}

func (d *openapi) operation(r rest.Route) object {
	status := r.Status
	if status == 0 {
		status = 200
	}
	answer := object{"description": "Success"}
	if r.Out != nil {
		answer["content"] = body(d.schema(reflect.TypeOf(r.Out)))
	}
	op := object{"summary": r.Summary, "responses": object{strconv.Itoa(status): answer}}
	if r.About != "" {
		op["description"] = r.About
	}
	if r.In != nil {
		op["requestBody"] = object{"required": true, "content": body(d.schema(reflect.TypeOf(r.In)))}
	}
	var parameters []object
	for _, m := range pathVariable.FindAllStringSubmatch(r.Path, -1) {
		parameters = append(parameters, object{"name": m[1], "in": "path", "required": true, "schema": object{"type": "string"}})
	}
	for _, p := range r.Query {
		parameters = append(parameters, object{"name": p.Name, "in": "query", "description": p.About, "schema": object{"type": p.Type}})
	}
	if parameters != nil {
		op["parameters"] = parameters
	}
	return op
}

func body(schema object) object { return object{"application/json": object{"schema": schema}} }

// schema returns the schema of a type, by reference where it has a name.
func (d *openapi) schema(t reflect.Type) object {
	switch t {
	case reflect.TypeFor[time.Time]():
		return object{"type": "string", "format": "date-time"}
	case reflect.TypeFor[uuid.UUID]():
		return object{"type": "string", "format": "uuid"}
	case reflect.TypeFor[json.RawMessage]():
		return object{}
	}
	switch t.Kind() {
	case reflect.Pointer:
		return nullable(d.schema(t.Elem()))
	case reflect.Slice, reflect.Array:
		if t.Elem().Kind() == reflect.Uint8 {
			return object{"type": "string", "format": "byte"}
		}
		return object{"type": "array", "items": d.schema(t.Elem())}
	case reflect.Map:
		return object{"type": "object", "additionalProperties": d.schema(t.Elem())}
	case reflect.Struct:
		if reflect.PointerTo(t).Implements(reflect.TypeFor[encoding.TextMarshaler]()) { // such as a regular expression
			return object{"type": "string"}
		}
		return d.named(t, func() object { return d.fields(t) })
	case reflect.String:
		if values := d.enums[t.Name()]; t.PkgPath() != "" && values != nil {
			return d.named(t, func() object { return object{"type": "string", "enum": values} })
		}
		return object{"type": "string"}
	case reflect.Bool:
		return object{"type": "boolean"}
	case reflect.Float32, reflect.Float64:
		return object{"type": "number"}
	case reflect.Interface:
		return object{}
	}
	return object{"type": "integer"}
}

// named puts the schema of a type with a name among the components.
func (d *openapi) named(t reflect.Type, make func() object) object {
	name := typeName(t)
	if name == "" {
		return make()
	}
	if _, known := d.schemas[name]; !known {
		d.schemas[name] = object{} // for types that hold themselves
		d.schemas[name] = make()
	}
	return object{"$ref": "#/components/schemas/" + name}
}

var notInNames = regexp.MustCompile(`\W+|github\.com/[\w./-]*/coder\.`)

func typeName(t reflect.Type) string {
	return notInNames.ReplaceAllString(t.Name(), "")
}

func nullable(s object) object {
	if t, ok := s["type"].(string); ok {
		s["type"] = []string{t, "null"}
		return s
	}
	return object{"anyOf": []object{s, {"type": "null"}}}
}

func (d *openapi) fields(t reflect.Type) object {
	properties, required := object{}, []string{}
	for f := range t.Fields() {
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		if name == "-" || !f.IsExported() {
			continue
		}
		if f.Anonymous && name == "" {
			inner := d.fields(f.Type)
			for k, v := range inner["properties"].(object) {
				properties[k] = v
			}
			required = append(required, inner["required"].([]string)...)
			continue
		}
		if name == "" {
			name = f.Name
		}
		s := d.schema(f.Type)
		if c := d.comments[t.Name()+"."+f.Name]; c != "" && slices.Contains(typePackages, strings.TrimPrefix(t.PkgPath(), "github.com/seed-2a7f8fe7/coder/")) {
			s["description"] = c
		}
		properties[name] = s
		if !strings.Contains(options, "omit") {
			required = append(required, name)
		}
	}
	return object{"type": "object", "properties": properties, "required": required}
}

// typePackages declare the types of the API.
var typePackages = []string{"codersdk", "internal/rule/templatesource", "internal/rule/providermirror"}

// declared returns, as typePackages declare them, the values of string types, in order,
// and the comments of the fields of structs.
func declared(t *testing.T) (enums map[string][]string, comments map[string]string) {
	t.Helper()
	enums, comments = map[string][]string{}, map[string]string{}
	for _, dir := range typePackages {
		files, err := filepath.Glob("../../" + dir + "/*.go")
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range files {
			if !strings.HasSuffix(f, "_test.go") {
				readDeclarations(t, f, enums, comments)
			}
		}
	}
	return enums, comments
}

func readDeclarations(t *testing.T, file string, enums map[string][]string, comments map[string]string) {
	t.Helper()
	parsed, err := parser.ParseFile(gotoken.NewFileSet(), file, nil, parser.SkipObjectResolution|parser.ParseComments)
	if err != nil {
		t.Fatal(err)
	}
	ast.Inspect(parsed, func(n ast.Node) bool {
		if s, ok := n.(*ast.TypeSpec); ok {
			fieldComments(comments, s)
		}
		v, ok := n.(*ast.ValueSpec)
		if !ok || len(v.Values) != 1 {
			return true
		}
		name, isNamed := v.Type.(*ast.Ident)
		value, isLiteral := v.Values[0].(*ast.BasicLit)
		if isNamed && isLiteral && value.Kind == gotoken.STRING {
			if s, err := strconv.Unquote(value.Value); err == nil {
				enums[name.Name] = append(enums[name.Name], s)
			}
		}
		return true
	})
}

// fieldComments collects what is written above or behind the fields of a struct.
func fieldComments(into map[string]string, s *ast.TypeSpec) {
	t, ok := s.Type.(*ast.StructType)
	if !ok {
		return
	}
	for _, f := range t.Fields.List {
		text := strings.TrimSpace(f.Doc.Text() + f.Comment.Text())
		for _, name := range f.Names {
			into[s.Name.Name+"."+name.Name] = strings.Join(strings.Fields(text), " ")
		}
	}
}
