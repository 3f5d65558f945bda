package main

import (
	"bytes"
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"sync"
)

// A network is a bridge of this machine with a namespace for each node. Its names have the id of this
// process in them, so that several runs do not meet.
type network struct {
	prefix string // of names
	subnet string // 10.77.N
	nodes  int

	mu  sync.Mutex
	cut map[link]int // how many faults cut it
}

// A link is a direction between two places: nodes from 0, or outside.
type link struct{ from, to int }

// outside is this process, where clients are.
const outside = -1

func newNetwork(pid, nodes int) (*network, error) {
	n := &network{prefix: fmt.Sprint("rf", pid), subnet: fmt.Sprintf("10.77.%d", pid%250+1), nodes: nodes, cut: map[link]int{}}
	commands := []string{
		"ip link add BRIDGE type bridge",
		"ip addr add " + n.address(outside) + "/24 dev BRIDGE",
		"ip link set BRIDGE up",
	}
	for i := range nodes {
		commands = append(commands,
			"ip netns add "+n.namespace(i),
			fmt.Sprintf("ip link add PREFIXv%d type veth peer name eth0 netns %s", i, n.namespace(i)),
			fmt.Sprintf("ip link set PREFIXv%d master BRIDGE up", i),
			fmt.Sprintf("ip -n %s addr add %s/24 dev eth0", n.namespace(i), n.address(i)),
			fmt.Sprintf("ip -n %s link set eth0 up", n.namespace(i)),
			fmt.Sprintf("ip -n %s link set lo up", n.namespace(i)),
		)
	}
	for _, c := range commands {
		c = strings.NewReplacer("BRIDGE", n.prefix, "PREFIX", n.prefix).Replace(c)
		if err := output(exec.Command("sh", "-c", c)); err != nil {
			return nil, errors.Join(fmt.Errorf("%s: %w", c, err), n.close())
		}
	}
	return n, nil
}

// output runs a command. Its error has what the command printed.
func output(c *exec.Cmd) error {
	out, err := c.CombinedOutput()
	if err != nil {
		return fmt.Errorf("%w: %s", err, bytes.TrimSpace(out))
	}
	return nil
}

func (n *network) namespace(i int) string { return fmt.Sprintf("%sn%d", n.prefix, i) }

func (n *network) address(i int) string {
	if i == outside {
		return n.subnet + ".254"
	}
	return fmt.Sprintf("%s.%d", n.subnet, i+1)
}

func (n *network) close() error {
	var errs []error
	for i := range n.nodes {
		errs = append(errs, output(exec.Command("ip", "netns", "del", n.namespace(i))))
	}
	return errors.Join(append(errs, output(exec.Command("ip", "link", "del", n.prefix)))...)
}

// links returns what a fault cuts.
func (n *network) links(f *fault) (links []link) {
	for i := range n.nodes {
		if i == f.Node {
			continue
		}
		in, out := link{i, f.Node}, link{f.Node, i}
		switch f.Kind {
		case cut, isolate:
			links = append(links, in, out)
		case deaf:
			links = append(links, in)
		case oneWay:
			if i == f.Other {
				links = append(links, out)
			}
		}
	}
	if f.Kind == isolate {
		links = append(links, link{outside, f.Node}, link{f.Node, outside})
	}
	return links
}

// change cuts links, with by = 1, or mends them, with -1.
func (n *network) change(links []link, by int) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, l := range links {
		n.cut[l] += by
	}
	var errs []error
	for i := range n.nodes {
		c := exec.Command("ip", "netns", "exec", n.namespace(i), "nft", "-f", "-")
		c.Stdin = strings.NewReader(n.rules(i))
		errs = append(errs, output(c))
	}
	return errors.Join(errs...)
}

// rules returns the rules of a node's namespace: it drops what comes over a link that is cut, and sends
// nothing to clients over one.
func (n *network) rules(i int) string {
	var b strings.Builder
	b.WriteString("table inet faults\ndelete table inet faults\ntable inet faults {\n")
	b.WriteString("  chain input { type filter hook input priority 0;\n")
	for from := outside; from < n.nodes; from++ {
		if n.cut[link{from, i}] > 0 {
			fmt.Fprintf(&b, "    ip saddr %s drop\n", n.address(from))
		}
	}
	b.WriteString("  }\n  chain output { type filter hook output priority 0;\n")
	if n.cut[link{i, outside}] > 0 {
		fmt.Fprintf(&b, "    ip daddr %s drop\n", n.address(outside))
	}
	b.WriteString("  }\n}\n")
	return b.String()
}
