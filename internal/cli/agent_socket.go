package cli

import "github.com/ullage-dev/ullage/internal/client"

// agentSocket is the socket of the agent to speak with: the one that the user names, else
// that of this machine.
func (a *App) agentSocket(named string) string {
	if named != "" {
		return named
	}
	exists := func(path string) bool {
		_, err := a.Files.Stat(path)
		return err == nil
	}
	return client.DefaultSocket(a.LookupEnv, a.GPUs.UID, exists)
}
