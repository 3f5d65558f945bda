package embedded

// SwitchOff does what the server does when its disk is full.
func (s *Server) SwitchOff() error { return s.s.ShutdownJetStream() }
