package addons

import (
	"strings"
	"testing"
)

// BenchmarkCheck measures checks on as many objects as there may be, among them loops in loops, which have to be refused soon.
func BenchmarkCheck(b *testing.B) {
	facts := volumes(strings.Fields(strings.Repeat("pvc-0 ", 10_000))...)
	for name, expression := range map[string]string{
		"sensible":         `pvs.all(p, !has(p.spec.csi) || !p.spec.csi.driver.endsWith("rbd.csi.example.com"))`,
		"elaborate":        `pvs.filter(p, has(p.spec.csi) && p.spec.csi.driver.matches("^rook-[a-z]+[.]") && p.status.phase in ["Bound", "Released"] && quantity(p.spec.capacity.storage).isGreaterThan(quantity("1Gi"))).map(p, p.metadata.name).sort().join(", ") == ""`,
		"nested":           `pvs.all(p, pvs.exists(q, q.metadata.name == p.metadata.name))`,
		"nested and empty": `pvs.all(p, pvs.all(q, true))`,
		"nested lists":     `pvs.all(p, !(p.metadata.name in pvs.map(q, q.spec.volumeHandle)))`,
	} {
		b.Run(name, func(b *testing.B) {
			p := probe(b, expression, "")
			for b.Loop() {
				p.Evaluate(facts, Subject{Name: "rook"})
			}
		})
	}
}
