package flux

import (
	"fmt"
	"strings"
)

// explainTimeout says what Helm's bare word for a timeout means and where to look for the cause, of which Flux tells no more.
func (r report) explainTimeout(message string) string {
	const timeout = "context deadline exceeded"
	if !strings.HasPrefix(message, "Helm ") || r.hr.Spec.Timeout == nil {
		return message
	}
	return strings.Replace(message, timeout, fmt.Sprintf("%s: not ready within %s; see what is missing with: kubectl get pods,events -n %s",
		timeout, r.hr.Spec.Timeout.Duration, r.hr.Spec.TargetNamespace), 1)
}
