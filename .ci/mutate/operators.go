package main

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"slices"
	"strings"
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

// operatorOf returns the operator of a node that can have mutants, and its place.
func operatorOf(n ast.Node) (token.Pos, token.Token) {
	switch n := n.(type) {
	case *ast.BinaryExpr:
		return n.OpPos, n.Op
	case *ast.UnaryExpr:
		return n.OpPos, n.Op
	case *ast.IncDecStmt:
		return n.TokPos, n.Tok
	case *ast.AssignStmt:
		return n.TokPos, n.Tok
	}
	return token.NoPos, token.ILLEGAL
}

// Formats of what stands in the place of a mutant's expression: of its number, the text without the mutant, and the text on both
// sides of the operator.
const (
	formatNot = "((%[2]s) != mutantIs(%[1]d))"
	// With != true on both sides and behind them, && becomes ||, and the other way round.
	formatLogical = "((%[3]s) != mutantIs(%[1]d) %[5]s (%[4]s) != mutantIs(%[1]d)) != mutantIs(%[1]d)"
	formatCompare = "%[6]s(%[1]d, %[3]s, %[4]s)"
	formatNegate  = "mutantNegate(%[1]d, %[7]s(%[4]s))"
	formatCompute = "%[6]s(%[1]d, %[7]s(%[3]s), %[7]s(%[4]s))"
	formatAssign  = "%[6]s(%[1]d, &%[3]s, %[4]s)"
	formatStep    = "%[6]s(%[1]d, &%[3]s)"
)

// mutate returns the mutants of a node, the outer ones first.
func (t *target) mutate(n ast.Node) []*mutant {
	_, op := operatorOf(n)
	switch n := n.(type) {
	case *ast.BinaryExpr:
		switch {
		case logical[op] != 0:
			return []*mutant{t.change("INVERT_LOGICAL", n, n, logical[op], formatLogical)}
		case arithmetic[op] != 0 && !t.isText(n):
			return []*mutant{t.typed(n, t.change("ARITHMETIC_BASE", n, n, arithmetic[op], formatCompute))}
		case boundary[op] != 0:
			return []*mutant{
				t.change("CONDITIONALS_NEGATION", n, n, negated[op], formatNot), t.change("CONDITIONALS_BOUNDARY", n, n, boundary[op], formatCompare),
			}
		case negated[op] != 0:
			return []*mutant{t.change("CONDITIONALS_NEGATION", n, n, negated[op], formatNot)}
		}
	case *ast.UnaryExpr:
		if op == token.SUB {
			return []*mutant{t.typed(n, t.change("INVERT_NEGATIVES", n, n, token.ADD, formatNegate))}
		}
	case *ast.IncDecStmt:
		return []*mutant{t.change("INCREMENT_DECREMENT", n, n.X, steps[op], formatStep)}
	case *ast.AssignStmt:
		if assignments[op] != 0 && !t.isText(n.Lhs[0]) {
			return []*mutant{t.change("INVERT_ASSIGNMENTS", n, n.Lhs[0], assignments[op], formatAssign)}
		}
	}
	return nil
}

// change returns a mutant of a node. It gets a program of its own if it concerns a constant, or an element of a map, which has no
// address.
func (t *target) change(name string, n ast.Node, of ast.Expr, to token.Token, format string) *mutant {
	m := &mutant{node: n, operator: name, to: to, format: format, own: t.info.Types[of].Value != nil, hit: map[*test]bool{}}
	if index, ok := ast.Unparen(of).(*ast.IndexExpr); ok {
		if _, ok := t.info.TypeOf(index.X).Underlying().(*types.Map); ok {
			m.own = true
		}
	}
	return m
}

// typed gives the operands of a typed constant its type. Where only a constant may stand, the build fails, and the mutant gets a
// program of its own.
func (t *target) typed(n ast.Expr, m *mutant) *mutant {
	if b, ok := t.info.TypeOf(n).(*types.Basic); ok && m.own && b.Info()&types.IsUntyped == 0 {
		m.own, m.convert = false, b.Name()
	}
	return m
}

func (t *target) isText(e ast.Expr) bool {
	b, ok := t.info.TypeOf(e).Underlying().(*types.Basic)
	return ok && b.Info()&types.IsString != 0
}

// text returns the source of a node, or of a part of it, with functions in place of the operators that have mutants. All lines stay
// where they are.
func (t *target) text(s *source, n ast.Node, from, to token.Pos) string {
	var inner []ast.Node // from left to right
	ast.Inspect(n, func(c ast.Node) bool {
		if c == nil || c == n || len(t.of[c]) == 0 {
			return true
		}
		inner = append(inner, c)
		return false
	})
	slices.SortFunc(inner, func(a, b ast.Node) int { return cmp.Compare(a.Pos(), b.Pos()) })
	part := func(from, to token.Pos) string {
		var b strings.Builder
		for _, c := range inner {
			if from <= c.Pos() && c.End() <= to {
				b.Write(s.content[t.offset(from):t.offset(c.Pos())])
				b.WriteString(t.text(s, c, c.Pos(), c.End()))
				from = c.End()
			}
		}
		b.Write(s.content[t.offset(from):t.offset(to)])
		return b.String()
	}
	if len(t.of[n]) == 0 {
		return part(from, to)
	}
	pos, op := operatorOf(n)
	left, right := part(from, pos), part(pos+token.Pos(len(op.String())), to)
	text := left + op.String() + right
	for _, m := range slices.Backward(t.of[n]) {
		if !m.own {
			text = fmt.Sprintf(m.format, m.id, text, left, right, op, functions[op], m.convert)
		}
	}
	return text
}
