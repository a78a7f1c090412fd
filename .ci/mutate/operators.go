package main

import (
	"cmp"
	"go/ast"
	"go/token"
	"go/types"
	"slices"
)

// The operators and their changes, with the names that other tools of mutation testing give them.
var (
	negated = map[token.Token]token.Token{
		token.EQL: token.NEQ, token.NEQ: token.EQL, token.LSS: token.GEQ, token.GEQ: token.LSS, token.GTR: token.LEQ, token.LEQ: token.GTR,
	}
	boundary = map[token.Token]token.Token{
		token.LSS: token.LEQ, token.LEQ: token.LSS, token.GTR: token.GEQ, token.GEQ: token.GTR,
	}
	logical    = map[token.Token]token.Token{token.LAND: token.LOR, token.LOR: token.LAND}
	arithmetic = map[token.Token]token.Token{
		token.ADD: token.SUB, token.SUB: token.ADD, token.MUL: token.QUO, token.QUO: token.MUL, token.REM: token.MUL,
	}
	assignments = map[token.Token]token.Token{
		token.ADD_ASSIGN: token.SUB_ASSIGN, token.SUB_ASSIGN: token.ADD_ASSIGN,
		token.MUL_ASSIGN: token.QUO_ASSIGN, token.QUO_ASSIGN: token.MUL_ASSIGN,
	}
	steps = map[token.Token]token.Token{token.INC: token.DEC, token.DEC: token.INC}
	// functions are those of the file that mutated packages get, in place of operators.
	functions = map[token.Token]string{
		token.LSS: "mutantLess", token.LEQ: "mutantLessEqual", token.GTR: "mutantGreater", token.GEQ: "mutantGreaterEqual",
		token.ADD: "mutantAdd", token.SUB: "mutantSub", token.MUL: "mutantMul", token.QUO: "mutantQuo", token.REM: "mutantRem",
		token.ADD_ASSIGN: "mutantAddTo", token.SUB_ASSIGN: "mutantSubFrom", token.MUL_ASSIGN: "mutantMulBy", token.QUO_ASSIGN: "mutantQuoBy",
		token.INC: "mutantIncrement", token.DEC: "mutantDecrement",
	}
)

// mutate returns the mutants of a node. Their edits keep all lines where they are. ID in a text is the mutant's number.
func (t *target) mutate(n ast.Node) []*mutant {
	switch n := n.(type) {
	case *ast.BinaryExpr:
		return t.binary(n)
	case *ast.UnaryExpr:
		if n.Op == token.SUB {
			m := t.change("INVERT_NEGATIVES", n, n.OpPos, token.SUB, token.ADD)
			open, _, end := t.operands(n, m)
			minus := t.instead(n.OpPos, 1, "")
			minus.order = 3 // what opens here stands before it
			m.edits = []edit{t.opening(n, "mutantNegate"+open), minus, t.closing(n, end)}
			return []*mutant{m}
		}
	case *ast.IncDecStmt:
		m := t.change("INCREMENT_DECREMENT", n.X, n.TokPos, n.Tok, steps[n.Tok])
		m.edits = []edit{t.opening(n, functions[n.Tok]+"(ID, &"), t.instead(n.TokPos, 2, ""), t.closing(n, ")")}
		m.own = t.inMap(n.X)
		return []*mutant{m}
	case *ast.AssignStmt:
		to := assignments[n.Tok]
		if to == 0 || t.isText(n.Lhs[0]) {
			return nil
		}
		m := t.change("INVERT_ASSIGNMENTS", n.Lhs[0], n.TokPos, n.Tok, to)
		m.edits = []edit{t.opening(n, functions[n.Tok]+"(ID, &"), t.instead(n.TokPos, 2, ","), t.closing(n, ")")}
		m.own = t.inMap(n.Lhs[0])
		return []*mutant{m}
	}
	return nil
}

func (t *target) binary(n *ast.BinaryExpr) []*mutant {
	if to := logical[n.Op]; to != 0 {
		// With != true on both sides and behind them, && becomes ||, and the other way round.
		m := t.change("INVERT_LOGICAL", n, n.OpPos, n.Op, to)
		m.edits = []edit{
			t.opening(n, "(("), t.instead(n.OpPos, 0, ") != mutantIs(ID) "), t.instead(n.OpPos+2, 0, " ("),
			t.closing(n, ") != mutantIs(ID)) != mutantIs(ID)"),
		}
		return []*mutant{m}
	}
	if to := arithmetic[n.Op]; to != 0 && !t.isText(n) {
		m := t.change("ARITHMETIC_BASE", n, n.OpPos, n.Op, to)
		open, comma, end := t.operands(n, m)
		m.edits = []edit{t.opening(n, functions[n.Op]+open), t.instead(n.OpPos, 1, comma), t.closing(n, end)}
		return []*mutant{m}
	}
	to := negated[n.Op]
	if to == 0 {
		return nil
	}
	not := t.change("CONDITIONALS_NEGATION", n, n.OpPos, n.Op, to)
	not.edits = []edit{t.opening(n, "(("), t.closing(n, ") != mutantIs(ID))")}
	limit := boundary[n.Op]
	if limit == 0 {
		return []*mutant{not}
	}
	bound := t.change("CONDITIONALS_BOUNDARY", n, n.OpPos, n.Op, limit)
	bound.edits = []edit{t.opening(n, functions[n.Op]+"(ID, "), t.instead(n.OpPos, len(n.Op.String()), ","), t.closing(n, ")")}
	// Around the other one.
	not.edits[0].outer, not.edits[1].outer = true, true
	return []*mutant{not, bound}
}

func (t *target) change(operator string, of ast.Expr, pos token.Pos, from, to token.Token) *mutant {
	return &mutant{operator: operator, at: t.offset(pos), from: from, to: to, own: t.info.Types[of].Value != nil, hit: map[*test]bool{}}
}

// operands returns what stands before, between and behind the operands of a function. Those of a constant get its type;
// where only a constant may stand, the build fails, and the mutant gets a program of its own.
func (t *target) operands(n ast.Expr, m *mutant) (open, comma, end string) {
	b, ok := t.info.TypeOf(n).(*types.Basic)
	if !m.own || !ok || b.Info()&types.IsUntyped != 0 {
		return "(ID, ", ",", ")"
	}
	m.own = false
	return "(ID, " + b.Name() + "(", ")," + b.Name() + "(", "))"
}

func (t *target) isText(e ast.Expr) bool {
	b, ok := t.info.TypeOf(e).Underlying().(*types.Basic)
	return ok && b.Info()&types.IsString != 0
}

// inMap reports whether the operand is an element of a map, which has no address.
func (t *target) inMap(e ast.Expr) bool {
	index, ok := ast.Unparen(e).(*ast.IndexExpr)
	if !ok {
		return false
	}
	_, ok = t.info.TypeOf(index.X).Underlying().(*types.Map)
	return ok
}

// An edit replaces length bytes at an offset.
type edit struct {
	at, length int
	text       string
	order      int // of edits at the same place: closing, replacing, opening, a minus
	other      int // the other end of the expression
	outer      bool
}

func (t *target) opening(n ast.Node, text string) edit {
	return edit{at: t.offset(n.Pos()), text: text, order: 2, other: t.offset(n.End())}
}

func (t *target) closing(n ast.Node, text string) edit {
	return edit{at: t.offset(n.End()), text: text, order: 0, other: t.offset(n.Pos())}
}

func (t *target) instead(p token.Pos, length int, text string) edit {
	return edit{at: t.offset(p), length: length, text: text, order: 1}
}

// apply returns the content with the edits.
func apply(content []byte, edits []edit) []byte {
	edits = slices.Clone(edits)
	slices.SortStableFunc(edits, func(a, b edit) int {
		inner := func(e edit) int { // of edits at the same place
			if e.outer {
				return 1
			}
			return 0
		}
		switch {
		case a.at != b.at || a.order != b.order:
			return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.order, b.order))
		case a.order >= 2: // the outer one opens first
			return cmp.Or(cmp.Compare(b.other, a.other), cmp.Compare(inner(b), inner(a)))
		default: // and closes last
			return cmp.Or(cmp.Compare(b.other, a.other), cmp.Compare(inner(a), inner(b)))
		}
	})
	var out []byte
	last := 0
	for _, e := range edits {
		out = append(out, content[last:e.at]...)
		out = append(out, e.text...)
		last = e.at + e.length
	}
	return append(out, content[last:]...)
}
