package server

import (
	"context"
	"net/http"
	"sync"
	"time"

	"github.com/riffle-search/riffle/client"
)

// A clusterWatch keeps the status of the cluster for a moment: to find out, all nodes and the leaders of all logs are
// asked, and pages and collectors of figures ask often.
type clusterWatch struct {
	of Cluster

	mu     sync.Mutex // held while the cluster is asked, so that others wait for that
	status *client.ClusterStatus
	at     time.Time
}

const (
	statusFor  = time.Second     // how long a status is kept
	statusWait = 5 * time.Second // how long the figures wait for one
)

// ask returns the status of the cluster. Callers do not change it.
func (c *clusterWatch) ask(ctx context.Context) (*client.ClusterStatus, error) {
	if c.of == nil {
		return &client.ClusterStatus{Nodes: []client.ClusterNode{}, Indexes: []client.ClusterIndex{}, Faults: []string{}}, nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.status != nil && time.Since(c.at) < statusFor {
		return c.status, nil
	}
	st, err := c.of.Status(ctx)
	if err != nil {
		return nil, err
	}
	c.status, c.at = st, time.Now()
	return st, nil
}

// clusterStatus answers how the cluster is doing.
func (s *Server) clusterStatus(w http.ResponseWriter, r *http.Request) error {
	st, err := s.cluster.ask(r.Context())
	if err != nil {
		return err
	}
	return writeJSON(w, http.StatusOK, st)
}

// clusterView shows the cluster.
func (s *Server) clusterView(w http.ResponseWriter, r *http.Request) error {
	f, _, err := s.frameOf("cluster", r)
	if err != nil {
		return err
	}
	if f.Data, err = s.cluster.ask(r.Context()); err != nil {
		return err
	}
	return render(w, r, f)
}
