package addons

import (
	"bytes"
	"encoding/json"
	"maps"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
)

// Merge lays one map of Helm values over another by Helm's rules: maps merge, lists and scalars replace, and a null is kept,
// for Helm to delete the chart's default with. Neither argument is changed; the result shares no map with them, but may
// share lists and scalars.
func Merge(base, over map[string]any) map[string]any {
	merged := maps.Clone(base)
	if merged == nil {
		merged = map[string]any{}
	}
	for key, value := range over {
		below, isMap := merged[key].(map[string]any)
		if above, ok := value.(map[string]any); ok && isMap {
			merged[key] = Merge(below, above)
			continue
		}
		merged[key] = value
	}
	return cloneMaps(merged)
}

func cloneMaps(values map[string]any) map[string]any {
	clone := make(map[string]any, len(values))
	for key, value := range values {
		if nested, ok := value.(map[string]any); ok {
			value = cloneMaps(nested)
		}
		clone[key] = value
	}
	return clone
}

// decodeExactly reads JSON so that every number is written again as it was: as floats, large ones would lose digits.
func decodeExactly(raw *apiextensionsv1.JSON, into any) error {
	decoder := json.NewDecoder(bytes.NewReader(raw.Raw))
	decoder.UseNumber()
	return decoder.Decode(into)
}

// decodeValues reads values that validateValues has accepted, or that the CRD's schema keeps to be a map.
func decodeValues(raw *apiextensionsv1.JSON) map[string]any {
	values := map[string]any{}
	if raw != nil {
		_ = json.Unmarshal(raw.Raw, &values) // what is not a map has been refused before, and counts as empty here
	}
	return values
}
