package addons

import (
	"fmt"
	"strings"
)

// abridged lists a few names and says how many more there are.
func abridged(names []string) string { return FirstFew(names, 8) }

// FirstFew lists up to so many names, and says how many more there are.
func FirstFew(names []string, shown int) string { return firstOf(names, shown, ", ", " ") }

// FirstClauses joins clauses of a sentence, and counts all beyond the first few.
func FirstClauses(clauses []string, shown int) string { return firstOf(clauses, shown, "; ", "; ") }

func firstOf(list []string, shown int, between, last string) string {
	if len(list) <= shown {
		return strings.Join(list, between)
	}
	return fmt.Sprintf("%s%sand %d more", strings.Join(list[:shown], between), last, len(list)-shown)
}
