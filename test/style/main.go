// Command style holds the tree to two rules that no linter knows: no package-level variables that change,
// and no Go file of more than 500 lines.
package main

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"strings"
)

const maxLines = 500

func main() {
	out, err := exec.Command("git", "ls-files", "-z", "--cached", "--others", "--exclude-standard", "*.go").Output()
	if err != nil {
		fmt.Fprintln(os.Stderr, "style: listing the files:", err)
		os.Exit(1)
	}
	bad := 0
	report := func(format string, a ...any) {
		bad++
		fmt.Printf(format+"\n", a...)
	}
	for _, name := range strings.Split(strings.TrimRight(string(out), "\x00"), "\x00") {
		text, err := os.ReadFile(name)
		if err != nil {
			continue // deleted in the working tree
		}
		if n := bytes.Count(text, []byte("\n")); n > maxLines {
			report("%s: %d lines, more than %d", name, n, maxLines)
		}
		if !strings.HasSuffix(name, "_test.go") && !strings.HasPrefix(name, "test/lab/") {
			assigned(name, text, report)
		}
	}
	if bad > 0 {
		os.Exit(1)
	}
}

// assigned reports package-level variables that some function of the file assigns to. Tables that are only
// read, compiled patterns and values set by the linker are no state.
func assigned(name string, text []byte, report func(string, ...any)) {
	set := token.NewFileSet()
	f, err := parser.ParseFile(set, name, text, 0)
	if err != nil {
		report("%s: %v", name, err)
		return
	}
	vars := map[string]bool{}
	for _, d := range f.Decls {
		if g, ok := d.(*ast.GenDecl); ok && g.Tok == token.VAR {
			for _, s := range g.Specs {
				for _, n := range s.(*ast.ValueSpec).Names {
					vars[n.Name] = n.Name != "_"
				}
			}
		}
	}
	ast.Inspect(f, func(n ast.Node) bool {
		a, ok := n.(*ast.AssignStmt)
		if !ok || a.Tok == token.DEFINE {
			return true
		}
		for _, l := range a.Lhs {
			for {
				if ix, ok := l.(*ast.IndexExpr); ok {
					l = ix.X
					continue
				}
				break
			}
			if id, ok := l.(*ast.Ident); ok && vars[id.Name] && (id.Obj == nil || id.Obj.Kind == ast.Var && isGlobal(f, id)) {
				report("%s: package-level variable %s is changed", set.Position(id.Pos()), id.Name)
			}
		}
		return true
	})
}

// isGlobal reports whether the identifier is resolved to a declaration of the file's own level.
func isGlobal(f *ast.File, id *ast.Ident) bool { return f.Scope.Lookup(id.Name) == id.Obj }
