package cluster

import (
	"fmt"
	"math/rand/v2"
	"net"
	"strconv"
)

// The ports lie below those that the kernel gives to outgoing connections, so
// that none of these takes a port between its choice and its use.
const (
	lowestPort  = 12000
	highestPort = 32000
)

// freePorts returns distinct ports of the loopback address that nothing listens on.
func freePorts(count int) ([]int, error) {
	var ports []int
	var held []net.Listener
	defer func() {
		for _, listener := range held {
			_ = listener.Close()
		}
	}()
	for range 100 * count {
		port := lowestPort + rand.IntN(highestPort-lowestPort)
		listener, err := net.Listen("tcp", loopback(port))
		if err != nil {
			continue
		}
		held = append(held, listener)
		if ports = append(ports, port); len(ports) == count {
			return ports, nil
		}
	}
	return nil, fmt.Errorf("find %d free ports: too many are in use", count)
}

func loopback(port int) string {
	return net.JoinHostPort("127.0.0.1", strconv.Itoa(port))
}
