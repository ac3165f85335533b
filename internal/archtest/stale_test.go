package archtest

import (
	"slices"
	"testing"
)

// TestTableIsUsed fails on rows that nothing uses: they would allow what nobody
// decided.
func TestTableIsUsed(t *testing.T) {
	all := packages(t)
	uses := func(users, imported func(path string) bool) bool {
		return slices.ContainsFunc(all, func(p pkg) bool {
			return users(p.path) && slices.ContainsFunc(p.ownImports(), imported)
		})
	}
	for i := range tiers {
		tier := &tiers[i]
		for _, pattern := range tier.packages {
			if !slices.ContainsFunc(all, func(p pkg) bool { return matches(pattern, p.path) }) {
				t.Errorf("tier %d names %s, which does not exist", tier.number, pattern)
			}
		}
		for _, pattern := range tier.may {
			used := uses(func(path string) bool { return tierOf(path) == tier }, func(path string) bool { return matches(pattern, path) })
			if !used {
				t.Errorf("tier %d (%s) may import %s, which none of its packages does", tier.number, tier.name, pattern)
			}
		}
	}
	for path, allowed := range exceptions {
		for pattern := range allowed {
			used := uses(func(user string) bool { return user == path }, func(imported string) bool {
				tier := tierOf(path)
				byTier := tier != nil && pattern != "./..." && slices.ContainsFunc(tier.may, func(may string) bool { return matches(may, imported) })
				return matches(pattern, imported) && !byTier && (pattern == "./..." || !below(path, imported))
			})
			if !used {
				t.Errorf("the exception that %s may import %s is not needed", path, pattern)
			}
		}
	}
	for library, users := range confined {
		for _, user := range users {
			if !slices.ContainsFunc(all, func(p pkg) bool {
				return below(user, p.path) && slices.ContainsFunc(p.Imports, func(path string) bool { return below(library, path) })
			}) {
				t.Errorf("%s may import %s and does not", user, library)
			}
		}
	}
	for _, raised := range []map[string]int{packageLines, imports} {
		for path := range raised {
			if !slices.ContainsFunc(all, func(p pkg) bool { return p.path == path }) {
				t.Errorf("a limit is raised for %s, which does not exist", path)
			}
		}
	}
}
