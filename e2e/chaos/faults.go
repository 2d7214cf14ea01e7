package main

import (
	"math/rand/v2"
	"net/http"
	"sync"
	"time"
)

// A verb is what faults are chosen by.
type verb string

const (
	verbRead   verb = "read" // get and list
	verbWatch  verb = "watch"
	verbCreate verb = "create"
	verbUpdate verb = "update"
	verbPatch  verb = "patch"
	verbDelete verb = "delete"
)

func verbOf(r *http.Request) verb {
	switch r.Method {
	case http.MethodPost:
		return verbCreate
	case http.MethodPut:
		return verbUpdate
	case http.MethodPatch:
		return verbPatch
	case http.MethodDelete:
		return verbDelete
	}
	if watch := r.URL.Query().Get("watch"); watch == "true" || watch == "1" {
		return verbWatch
	}
	return verbRead
}

func (v verb) write() bool { return v != verbRead && v != verbWatch }

// A fault is what goes wrong with a request.
type fault string

const (
	faultNone fault = ""
	// What the API server never hears of.
	faultUnavailable fault = "refused with 503"
	faultTooMany     fault = "refused with 429"
	faultReset       fault = "reset"
	// What it carries out, and the operator does not hear of.
	faultLost fault = "answer lost"
	// What it carries out twice.
	faultRepeated fault = "repeated"
	// What breaks off after a while.
	faultCut fault = "watch cut"
	// What comes late, beside other faults.
	faultDelayed fault = "delayed"
)

// rates are the chances, between 0 and 1, of each fault of a request.
type rates map[fault]float64

// ratesPerVerb is what the chaos is made of. Watches are cut rather often, since they live long.
func ratesPerVerb() map[verb]rates {
	write := rates{faultDelayed: 0.10, faultUnavailable: 0.02, faultTooMany: 0.02, faultReset: 0.02, faultLost: 0.03, faultRepeated: 0.03}
	return map[verb]rates{
		verbRead:   {faultDelayed: 0.10, faultUnavailable: 0.02, faultTooMany: 0.02, faultReset: 0.02, faultLost: 0.02},
		verbWatch:  {faultDelayed: 0.10, faultUnavailable: 0.02, faultReset: 0.02, faultCut: 0.30},
		verbCreate: write,
		verbUpdate: write,
		verbPatch:  write,
		verbDelete: write,
	}
}

const (
	longestDelay = 500 * time.Millisecond
	longestWatch = 10 * time.Second // of those that are cut
)

// dice choose faults. They are safe for concurrent use.
type dice struct {
	mu    sync.Mutex
	rng   *rand.Rand
	rates map[verb]rates
	calm  bool
}

// becalm ends all faults, or lets them begin again.
func (d *dice) becalm(calm bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.calm = calm
}

// throw chooses what becomes of a request: by how much it is delayed, which may be 0, and what else goes wrong.
func (d *dice) throw(v verb) (time.Duration, fault) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.calm {
		return 0, faultNone
	}
	delay := time.Duration(0)
	if d.rng.Float64() < d.rates[v][faultDelayed] {
		delay = d.upTo(longestDelay)
	}
	point := d.rng.Float64()
	for _, f := range []fault{faultUnavailable, faultTooMany, faultReset, faultLost, faultRepeated, faultCut} {
		if point -= d.rates[v][f]; point < 0 {
			return delay, f
		}
	}
	return delay, faultNone
}

// watchLength chooses how long a watch lasts that is cut.
func (d *dice) watchLength() time.Duration {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.upTo(longestWatch)
}

// coin is true half of the time.
func (d *dice) coin() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.rng.IntN(2) == 0
}

func (d *dice) upTo(longest time.Duration) time.Duration {
	return time.Duration(1 + d.rng.Int64N(int64(longest)))
}
