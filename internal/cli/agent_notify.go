package cli

import (
	"net"
	"strings"
)

// tellManager sends systemd a word about the service, where it asks for one: a datagram to the
// socket that NOTIFY_SOCKET names, of which @ stands for an abstract one. The manager counts
// on it for nothing but order, so what cannot be sent is only logged.
func (r *agentRun) tellManager(word string) {
	path := r.app.env("NOTIFY_SOCKET")
	if !strings.HasPrefix(path, "/") && !strings.HasPrefix(path, "@") {
		return
	}
	conn, err := net.Dial("unixgram", path)
	if err == nil {
		defer conn.Close()
		_, err = conn.Write([]byte(word))
	}
	if err != nil {
		r.log.Warn("systemd could not be told", "word", word, "error", err.Error())
	}
}
