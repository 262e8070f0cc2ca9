package tools

import "github.com/loom-sandbox/sandboxd/taint"

// unlabelled takes well-formed labels out of a decoded value, those inside of
// labels too: a schema describes what the script gets, which has none.
func unlabelled(value any) any {
	switch v := value.(type) {
	case []any:
		for i := range v {
			v[i] = unlabelled(v[i])
		}
	case map[string]any:
		if inner, ok := labelled(v); ok {
			return unlabelled(inner)
		}
		for name := range v {
			v[name] = unlabelled(v[name])
		}
	}
	return value
}

// labelled returns the value in a label.
func labelled(object map[string]any) (any, bool) {
	value, ok := object["value"]
	marker, _ := object[taint.MarkerKey].(map[string]any)
	origin, _ := marker["origin"].(string)
	return value, ok && len(object) == 2 && len(marker) == 1 && taint.CheckOrigin(origin) == nil
}
