package addons

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// ValuePath leads to a Helm value: the keys of the maps around it and its own, outermost first.
type ValuePath []string

// ParseValuePath reads keys with dots between them, as in `persistence.size`. A dot in a key is written `\.`, and a backslash `\\`.
func ParseValuePath(text string) (ValuePath, error) {
	path := ValuePath{""}
	escaped := false
	for _, char := range text {
		last := &path[len(path)-1]
		switch {
		case escaped && char != '.' && char != '\\':
			return nil, fmt.Errorf(`a backslash only stands before a dot or a backslash that belongs to a key, not before %q`, char)
		case !escaped && char == '\\':
			escaped = true
			continue
		case !escaped && char == '.':
			path = append(path, "")
		default:
			*last += string(char)
		}
		escaped = false
	}
	if escaped {
		return nil, errors.New(`ends with a backslash; a backslash that belongs to a key is written \\`)
	}
	if slices.Contains(path, "") {
		return nil, errors.New(`must be keys with a dot between them, such as persistence.size, and one is empty; write a dot that belongs to a key as \. instead`)
	}
	return path, nil
}

var keyEscapes = strings.NewReplacer(`\`, `\\`, `.`, `\.`)

// String writes a path as ParseValuePath reads it.
func (p ValuePath) String() string {
	keys := make([]string, 0, len(p))
	for _, key := range p {
		keys = append(keys, keyEscapes.Replace(key))
	}
	return strings.Join(keys, ".")
}

// Covers says whether another path is this one or lies below it.
func (p ValuePath) Covers(other ValuePath) bool {
	return len(other) >= len(p) && slices.Equal(p, other[:len(p)])
}

// valuePaths lists the paths of all that values set, sorted. Maps count by what is in them, unless that is nothing.
func valuePaths(values map[string]any) []ValuePath {
	var paths []ValuePath
	for _, key := range sortedKeys(values) {
		nested, _ := values[key].(map[string]any)
		for _, below := range valuePaths(nested) {
			paths = append(paths, append(ValuePath{key}, below...))
		}
		if len(nested) == 0 {
			paths = append(paths, ValuePath{key})
		}
	}
	return paths
}

// takeValue removes a value, and the maps around it that have nothing else.
func takeValue(values map[string]any, path ValuePath) (any, bool) {
	value, ok := values[path[0]]
	if !ok || len(path) == 1 {
		delete(values, path[0])
		return value, ok
	}
	nested, isMap := value.(map[string]any)
	if !isMap {
		return nil, false
	}
	taken, ok := takeValue(nested, path[1:])
	if ok && len(nested) == 0 {
		delete(values, path[0])
	}
	return taken, ok
}

// putValue sets a value, and makes the maps around it. Maps merge; anything else that is in the way is replaced.
func putValue(values map[string]any, path ValuePath, value any) {
	nested, isMap := values[path[0]].(map[string]any)
	if len(path) > 1 {
		if !isMap {
			nested = map[string]any{}
			values[path[0]] = nested
		}
		putValue(nested, path[1:], value)
		return
	}
	if added, ok := value.(map[string]any); ok && isMap {
		value = Merge(nested, added)
	}
	values[path[0]] = value
}
