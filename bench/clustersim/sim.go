package main

import (
	"container/heap"
	"time"
)

// A sim has the events that are still to come.
type sim struct {
	now    time.Duration
	events events
	count  int // breaks ties: events of one time happen in the order in which they were made
}

type event struct {
	at    time.Duration
	order int
	do    func()
}

type events []event

func (e events) Len() int { return len(e) }
func (e events) Less(i, j int) bool {
	return e[i].at < e[j].at || e[i].at == e[j].at && e[i].order < e[j].order
}
func (e events) Swap(i, j int) { e[i], e[j] = e[j], e[i] }
func (e *events) Push(x any)   { *e = append(*e, x.(event)) }
func (e *events) Pop() any {
	old := *e
	x := old[len(old)-1]
	old[len(old)-1] = event{}
	*e = old[:len(old)-1]
	return x
}

// after calls do after some time.
func (s *sim) after(d time.Duration, do func()) {
	s.count++
	heap.Push(&s.events, event{s.now + d, s.count, do})
}

// run runs until stop says so, or nothing is to come.
func (s *sim) run(stop func() bool) {
	for len(s.events) > 0 && !stop() {
		e := heap.Pop(&s.events).(event)
		s.now = e.at
		e.do()
	}
}

// A machine is a node: tasks wait in one queue for its cores.
type machine struct {
	sim   *sim
	free  int     // cores
	slow  float64 // how long it takes, as a multiple
	queue []task
	head  int
	busy  time.Duration // of all cores
	under int           // requests that it has, of all clients
}

type task struct {
	takes time.Duration
	then  func()
}

// work does a task when a core is free, and then calls then.
func (m *machine) work(takes time.Duration, then func()) {
	t := task{time.Duration(float64(takes) * m.slow), then}
	if m.free == 0 {
		m.queue = append(m.queue, t)
		return
	}
	m.free--
	m.begin(t)
}

func (m *machine) begin(t task) {
	m.busy += t.takes
	m.sim.after(t.takes, func() {
		if m.head < len(m.queue) {
			next := m.queue[m.head]
			m.queue[m.head] = task{}
			if m.head++; m.head == len(m.queue) {
				m.queue, m.head = m.queue[:0], 0
			}
			m.begin(next)
		} else {
			m.free++
		}
		t.then()
	})
}
