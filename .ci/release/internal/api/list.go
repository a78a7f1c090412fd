package api

import (
	"fmt"
	"go/types"
	"slices"
	"strings"
)

// list returns the API of a package, a line for each constant, variable, function, type, field and method that other packages can
// use. Names of parameters are left out: a change of them breaks no program.
func (l lister) list(p *types.Package) (lines []string) {
	for _, name := range p.Scope().Names() {
		obj := p.Scope().Lookup(name)
		if !obj.Exported() {
			continue
		}
		switch obj := obj.(type) {
		case *types.Const:
			lines = append(lines, fmt.Sprintf("const %s %s = %s", name, l.typeString(obj.Type()), obj.Val().ExactString()))
		case *types.Var:
			lines = append(lines, fmt.Sprintf("var %s %s", name, l.typeString(obj.Type())))
		case *types.Func:
			lines = append(lines, fmt.Sprintf("func %s%s", name, l.signature(obj.Signature())))
		case *types.TypeName:
			lines = append(lines, l.typeLines(obj)...)
		}
	}
	slices.Sort(lines)
	return slices.Compact(lines)
}

func (l lister) typeLines(obj *types.TypeName) []string {
	name := obj.Name()
	if obj.IsAlias() {
		return []string{fmt.Sprintf("type %s = %s", name, l.typeString(types.Unalias(obj.Type())))}
	}
	named := obj.Type().(*types.Named) //nolint:forcetypeassert // what is no alias has a name
	var lines []string
	switch under := named.Underlying().(type) {
	case *types.Struct:
		lines = append(l.fields(name, under, nil), fmt.Sprintf("type %s%s struct", name, l.typeParams(named.TypeParams())))
	case *types.Interface:
		lines = append(lines, fmt.Sprintf("type %s%s %s", name, l.typeParams(named.TypeParams()), l.interfaceString(under)))
	default:
		lines = append(lines, fmt.Sprintf("type %s%s %s", name, l.typeParams(named.TypeParams()), l.typeString(under)))
	}
	value := types.NewMethodSet(named)
	all := value
	if !types.IsInterface(named) {
		all = types.NewMethodSet(types.NewPointer(named))
	}
	for m := range all.Methods() {
		if !m.Obj().Exported() {
			continue
		}
		receiver := name
		if value.Lookup(m.Obj().Pkg(), m.Obj().Name()) == nil {
			receiver = "(*" + name + ")"
		}
		lines = append(lines, fmt.Sprintf("method %s.%s%s", receiver, m.Obj().Name(), l.signature(m.Type().(*types.Signature)))) //nolint:forcetypeassert // of a method
	}
	return lines
}

// fields lists fields of a struct, also those of embedded structs whose type other packages cannot name.
func (l lister) fields(name string, s *types.Struct, seen []*types.Struct) (lines []string) {
	if slices.Contains(seen, s) {
		return nil
	}
	for f := range s.Fields() {
		switch {
		case f.Exported():
			tag := ""
			if f.Embedded() {
				tag = "embedded "
			}
			lines = append(lines, fmt.Sprintf("field %s.%s %s%s", name, f.Name(), tag, l.typeString(f.Type())))
		case f.Embedded():
			t := f.Type()
			if pointer, ok := t.Underlying().(*types.Pointer); ok {
				t = pointer.Elem()
			}
			if inner, ok := t.Underlying().(*types.Struct); ok {
				lines = append(lines, l.fields(name, inner, append(seen, s))...)
			}
		}
	}
	return lines
}

// interfaceString returns an interface without its methods, which have lines of their own, but with what restricts the types that can
// have it.
func (l lister) interfaceString(t *types.Interface) string {
	switch {
	case !t.IsMethodSet():
		return l.typeString(t) // a constraint
	case slices.ContainsFunc(slices.Collect(t.Methods()), func(m *types.Func) bool { return !m.Exported() }):
		return "interface with unexported methods"
	}
	return "interface"
}

func (l lister) typeString(t types.Type) string {
	return types.TypeString(t, func(p *types.Package) string {
		if relative, ok := l.relative(p.Path()); ok {
			return relative
		}
		return p.Path()
	})
}

// signature returns parameters and results without their names.
func (l lister) signature(s *types.Signature) string {
	anonymous := func(t *types.Tuple) *types.Tuple {
		var vars []*types.Var
		for v := range t.Variables() {
			vars = append(vars, types.NewParam(v.Pos(), v.Pkg(), "", v.Type()))
		}
		return types.NewTuple(vars...)
	}
	plain := types.NewSignatureType(nil, nil, nil, anonymous(s.Params()), anonymous(s.Results()), s.Variadic())
	return l.typeParams(s.TypeParams()) + strings.TrimPrefix(l.typeString(plain), "func")
}

func (l lister) typeParams(list *types.TypeParamList) string {
	if list.Len() == 0 {
		return ""
	}
	var params []string
	for p := range list.TypeParams() {
		params = append(params, p.Obj().Name()+" "+l.typeString(p.Constraint()))
	}
	return "[" + strings.Join(params, ", ") + "]"
}
