package bound

import (
	"crypto/md5"  //nolint:gosec // a function of Terraform
	"crypto/sha1" //nolint:gosec // a function of Terraform
	"crypto/sha256"
	"crypto/sha512"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"net/url"
	"regexp"
	"strings"
	"unicode/utf8"

	"github.com/hashicorp/hcl/v2/ext/tryfunc"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"
	"github.com/zclconf/go-cty/cty/function"
	"github.com/zclconf/go-cty/cty/function/stdlib"
)

// Functions returns the functions of Terraform whose results are not larger than their
// arguments, except those in factor. They behave as in Terraform, see
// https://developer.hashicorp.com/terraform/language/functions.
func Functions() map[string]function.Function {
	return map[string]function.Function{
		"abs": stdlib.AbsoluteFunc, "ceil": stdlib.CeilFunc, "floor": stdlib.FloorFunc, "log": stdlib.LogFunc, "max": stdlib.MaxFunc,
		"min": stdlib.MinFunc, "parseint": stdlib.ParseIntFunc, "pow": stdlib.PowFunc, "signum": stdlib.SignumFunc, "sum": sum,

		"base64decode": base64decode, "base64encode": onText(func(s string) string { return base64.StdEncoding.EncodeToString([]byte(s)) }),
		"chomp": stdlib.ChompFunc, "endswith": compares(strings.HasSuffix), "format": bounded(stdlib.FormatFunc),
		"formatdate": stdlib.FormatDateFunc, "formatlist": bounded(stdlib.FormatListFunc), "join": stdlib.JoinFunc,
		"lower": stdlib.LowerFunc, "md5": onText(hexadecimal(func(b []byte) []byte { h := md5.Sum(b); return h[:] })), //nolint:gosec // as above
		"regex": stdlib.RegexFunc, "regexall": stdlib.RegexAllFunc, "replace": replace,
		"sha1":   onText(hexadecimal(func(b []byte) []byte { h := sha1.Sum(b); return h[:] })), //nolint:gosec // as above
		"sha256": onText(hexadecimal(func(b []byte) []byte { h := sha256.Sum256(b); return h[:] })),
		"sha512": onText(hexadecimal(func(b []byte) []byte { h := sha512.Sum512(b); return h[:] })),
		"split":  stdlib.SplitFunc, "startswith": compares(strings.HasPrefix), "strcontains": compares(strings.Contains),
		"strrev": stdlib.ReverseFunc, "substr": stdlib.SubstrFunc, "timeadd": stdlib.TimeAddFunc, "title": stdlib.TitleFunc,
		"trim": stdlib.TrimFunc, "trimprefix": stdlib.TrimPrefixFunc, "trimspace": stdlib.TrimSpaceFunc, "trimsuffix": stdlib.TrimSuffixFunc,
		"upper": stdlib.UpperFunc, "urlencode": onText(url.QueryEscape),

		"alltrue": every(true), "anytrue": every(false), "chunklist": stdlib.ChunklistFunc, "coalesce": coalesce,
		"coalescelist": stdlib.CoalesceListFunc, "compact": stdlib.CompactFunc, "concat": stdlib.ConcatFunc, "contains": stdlib.ContainsFunc,
		"distinct": stdlib.DistinctFunc, "element": stdlib.ElementFunc, "flatten": stdlib.FlattenFunc, "index": index,
		"keys": stdlib.KeysFunc, "length": length, "lookup": lookup, "merge": stdlib.MergeFunc, "one": one, "range": stdlib.RangeFunc,
		"reverse": stdlib.ReverseListFunc, "setintersection": stdlib.SetIntersectionFunc, "setproduct": stdlib.SetProductFunc,
		"setsubtract": stdlib.SetSubtractFunc, "setunion": stdlib.SetUnionFunc, "slice": stdlib.SliceFunc, "sort": stdlib.SortFunc,
		"values": stdlib.ValuesFunc, "zipmap": stdlib.ZipmapFunc,

		"jsondecode": stdlib.JSONDecodeFunc, "jsonencode": stdlib.JSONEncodeFunc,

		"nonsensitive": same, "sensitive": same, "tobool": stdlib.MakeToFunc(cty.Bool), "tonumber": stdlib.MakeToFunc(cty.Number),
		"tolist": stdlib.MakeToFunc(cty.List(cty.DynamicPseudoType)), "tomap": stdlib.MakeToFunc(cty.Map(cty.DynamicPseudoType)),
		"toset": stdlib.MakeToFunc(cty.Set(cty.DynamicPseudoType)), "tostring": stdlib.MakeToFunc(cty.String),
		"can": tryfunc.CanFunc, "try": tryfunc.TryFunc,
	}
}

// factor returns how often the result of a call may contain its largest argument for each element
// of another.
func factor(name string, arguments int) int {
	switch name {
	case "join", "replace", "zipmap", "format", "formatlist", "regexall":
		return 1
	case "setproduct":
		return max(1, arguments-1)
	}
	return 0
}

// wide matches widths and precisions of a format above 99.
var wide = regexp.MustCompile(`%[^%a-zA-Z]*[0-9]{3}`)

// bounded is a function that formats, without the widths that would make results large.
func bounded(f function.Function) function.Function {
	return function.New(&function.Spec{
		Params:   f.Params(),
		VarParam: f.VarParam(),
		Type: func(args []cty.Value) (cty.Type, error) {
			if s := args[0]; s.Type() == cty.String && s.IsKnown() && !s.IsNull() && wide.MatchString(s.AsString()) {
				return cty.DynamicPseudoType, errors.New("a width above 99 is not supported here")
			}
			return f.ReturnTypeForValues(args)
		},
		Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) { return f.Call(args) },
	})
}

func textParameters(names ...string) []function.Parameter {
	var out []function.Parameter
	for _, name := range names {
		out = append(out, function.Parameter{Name: name, Type: cty.String})
	}
	return out
}

func onText(f func(string) string) function.Function {
	return function.New(&function.Spec{
		Params: textParameters("str"), Type: function.StaticReturnType(cty.String),
		Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
			return cty.StringVal(f(args[0].AsString())), nil
		},
	})
}

func hexadecimal(hash func([]byte) []byte) func(string) string {
	return func(s string) string { return hex.EncodeToString(hash([]byte(s))) }
}

func compares(f func(s, part string) bool) function.Function {
	return function.New(&function.Spec{
		Params: textParameters("str", "part"), Type: function.StaticReturnType(cty.Bool),
		Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
			return cty.BoolVal(f(args[0].AsString(), args[1].AsString())), nil
		},
	})
}

var base64decode = function.New(&function.Spec{
	Params: textParameters("str"), Type: function.StaticReturnType(cty.String),
	Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
		b, err := base64.StdEncoding.DecodeString(args[0].AsString())
		if err != nil {
			return cty.NilVal, errors.New("the text is not Base64")
		}
		if !utf8.Valid(b) {
			return cty.NilVal, errors.New("the decoded bytes are not UTF-8")
		}
		return cty.StringVal(string(b)), nil
	},
})

// replace takes a part between slashes as a regular expression.
var replace = function.New(&function.Spec{
	Params: textParameters("str", "part", "by"), Type: function.StaticReturnType(cty.String),
	Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
		part := args[1].AsString()
		if len(part) > 1 && part[0] == '/' && part[len(part)-1] == '/' {
			return stdlib.RegexReplace(args[0], cty.StringVal(part[1:len(part)-1]), args[2])
		}
		return stdlib.Replace(args[0], args[1], args[2])
	},
})

// same returns its argument. Sensitive variables are unknown anyway.
var same = function.New(&function.Spec{
	Params: []function.Parameter{{Name: "value", Type: cty.DynamicPseudoType, AllowNull: true, AllowUnknown: true, AllowDynamicType: true}},
	Type:   func(args []cty.Value) (cty.Type, error) { return args[0].Type(), nil },
	Impl:   func(args []cty.Value, _ cty.Type) (cty.Value, error) { return args[0], nil },
})

// coalesce returns the first argument that is neither null nor empty text.
var coalesce = function.New(&function.Spec{
	VarParam: &function.Parameter{Name: "values", Type: cty.DynamicPseudoType, AllowNull: true, AllowUnknown: true, AllowDynamicType: true},
	Type: func(args []cty.Value) (cty.Type, error) {
		types := make([]cty.Type, 0, len(args))
		for _, v := range args {
			types = append(types, v.Type())
		}
		t, _ := convert.UnifyUnsafe(types)
		if t == cty.NilType {
			return cty.NilType, errors.New("all arguments must have one type")
		}
		return t, nil
	},
	Impl: func(args []cty.Value, t cty.Type) (cty.Value, error) {
		for _, v := range args {
			v, err := convert.Convert(v, t)
			switch {
			case err != nil:
				return cty.NilVal, err
			case !v.IsKnown():
				return cty.UnknownVal(t), nil
			case v.IsNull() || t == cty.String && v.AsString() == "":
			default:
				return v, nil
			}
		}
		return cty.NilVal, errors.New("all arguments are null or empty")
	},
})

// listParameter takes a list, a set or a tuple.
func listParameter() []function.Parameter {
	return []function.Parameter{{Name: "list", Type: cty.DynamicPseudoType}}
}

func elements(v cty.Value) ([]cty.Value, error) {
	if t := v.Type(); !t.IsListType() && !t.IsSetType() && !t.IsTupleType() {
		return nil, errors.New("a list or a set is needed")
	}
	return v.AsValueSlice(), nil
}

var one = function.New(&function.Spec{
	Params: listParameter(), Type: function.StaticReturnType(cty.DynamicPseudoType),
	Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
		all, err := elements(args[0])
		switch {
		case err != nil:
			return cty.NilVal, err
		case len(all) == 0:
			return cty.NullVal(cty.DynamicPseudoType), nil
		case len(all) > 1:
			return cty.NilVal, errors.New("the list has more than one element")
		}
		return all[0], nil
	},
})

var sum = function.New(&function.Spec{
	Params: listParameter(), Type: function.StaticReturnType(cty.Number),
	Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
		all, err := elements(args[0])
		if err != nil || len(all) == 0 {
			return cty.NilVal, errors.Join(errors.New("numbers are needed"), err)
		}
		total := cty.Zero
		for _, v := range all {
			n, err := convert.Convert(v, cty.Number)
			if err != nil || n.IsNull() {
				return cty.NilVal, errors.New("all elements must be numbers")
			}
			total = total.Add(n)
		}
		return total, nil
	},
})

// every reports whether all elements are true, or, for want = false, any of them.
func every(want bool) function.Function {
	return function.New(&function.Spec{
		Params: []function.Parameter{{Name: "list", Type: cty.List(cty.Bool)}}, Type: function.StaticReturnType(cty.Bool),
		Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
			for _, v := range args[0].AsValueSlice() {
				switch {
				case !v.IsKnown():
					return cty.UnknownVal(cty.Bool), nil
				case (!v.IsNull() && v.True()) != want:
					return cty.BoolVal(!want), nil
				}
			}
			return cty.BoolVal(want), nil
		},
	})
}

// index returns the position of a value in a list.
var index = function.New(&function.Spec{
	Params: append(listParameter(), function.Parameter{Name: "value", Type: cty.DynamicPseudoType}), Type: function.StaticReturnType(cty.Number),
	Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
		all, err := elements(args[0])
		if err != nil {
			return cty.NilVal, err
		}
		for i, v := range all {
			equal, err := stdlib.Equal(v, args[1])
			switch {
			case err != nil:
				return cty.NilVal, err
			case !equal.IsKnown():
				return cty.UnknownVal(cty.Number), nil
			case equal.True():
				return cty.NumberIntVal(int64(i)), nil
			}
		}
		return cty.NilVal, errors.New("the list does not have the value")
	},
})

// lookup needs no default.
var lookup = function.New(&function.Spec{
	Params: []function.Parameter{{Name: "map", Type: cty.DynamicPseudoType, AllowUnknown: true, AllowDynamicType: true}, {Name: "key", Type: cty.String}},
	VarParam: &function.Parameter{
		Name: "default", Type: cty.DynamicPseudoType, AllowNull: true, AllowUnknown: true, AllowDynamicType: true,
	},
	Type: function.StaticReturnType(cty.DynamicPseudoType),
	Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
		switch {
		case len(args) > 3:
			return cty.NilVal, errors.New("lookup takes a map, a key and a default")
		case len(args) == 3:
			return stdlib.Lookup(args[0], args[1], args[2])
		}
		if t := args[0].Type(); t.IsObjectType() && args[0].IsKnown() && args[1].IsKnown() {
			if name := args[1].AsString(); t.HasAttribute(name) {
				return args[0].GetAttr(name), nil
			}
			return cty.NilVal, errors.New("the object does not have the attribute")
		}
		return stdlib.Index(args[0], args[1])
	},
})

// length also counts the characters of strings and the attributes of objects.
var length = function.New(&function.Spec{
	Params: []function.Parameter{{Name: "value", Type: cty.DynamicPseudoType, AllowDynamicType: true, AllowUnknown: true, AllowMarked: true}},
	Type:   function.StaticReturnType(cty.Number),
	Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
		v := args[0]
		if v.Type() == cty.DynamicPseudoType || !v.IsKnown() {
			return cty.UnknownVal(cty.Number), nil
		}
		switch t := v.Type(); {
		case t == cty.String:
			return stdlib.Strlen(v)
		case t.IsObjectType():
			return cty.NumberIntVal(int64(v.LengthInt())), nil
		}
		return stdlib.Length(v)
	},
})
