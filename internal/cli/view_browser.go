package cli

import (
	"context"
	"fmt"
	"os/exec"
	"runtime"
	"strings"
	"time"
)

// browserWay is how a page is opened here.
type browserWay struct {
	command []string // to which the address is added; empty where there is no screen
	remote  bool     // the user sits at another machine
}

// browser decides how to open a page. BROWSER comes first: editors that work on a remote
// machine set it to what opens the page at home.
func (a *App) browser() browserWay {
	if b := a.env("BROWSER"); b != "" {
		first, _, _ := strings.Cut(b, ":") // a list, by the convention of xdg-open
		return browserWay{command: strings.Fields(first)}
	}
	if a.env("SSH_CONNECTION") != "" || a.env("SSH_TTY") != "" {
		return browserWay{remote: true}
	}
	switch {
	case runtime.GOOS == "darwin":
		return browserWay{command: []string{"open"}}
	case runtime.GOOS == "windows":
		return browserWay{command: []string{"rundll32", "url.dll,FileProtocolHandler"}}
	case a.env("DISPLAY") != "" || a.env("WAYLAND_DISPLAY") != "":
		return browserWay{command: []string{"xdg-open"}}
	}
	return browserWay{}
}

// env returns a variable of the environment, "" where it is not set.
func (a *App) env(name string) string {
	v, _ := a.LookupEnv(name)
	return v
}

// tunnel is the command that makes a port of this machine one of the user's own.
func (a *App) tunnel(port int) string {
	host := "HOST"
	if parts := strings.Fields(a.env("SSH_CONNECTION")); len(parts) == 4 { // client, its port, server, its port
		host = parts[2]
	}
	if user := a.env("USER"); user != "" {
		host = user + "@" + host
	}
	return fmt.Sprintf("ssh -N -L %d:127.0.0.1:%d %s", port, port, shellWord(host))
}

// browserPatience is how long a browser's starter may take to fail. One that goes on for
// longer is the browser itself.
const browserPatience = 2 * time.Second

// openBrowser starts a program with the address as its last argument, and tells if it
// failed at once. What the program prints is not for the user.
func openBrowser(ctx context.Context, command []string, address string) error {
	cmd := exec.Command(command[0], append(command[1:], address)...)
	if err := cmd.Start(); err != nil {
		return err
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	patience := time.NewTimer(browserPatience)
	defer patience.Stop()
	select {
	case err := <-ended:
		if err != nil {
			return fmt.Errorf("%s: %w", command[0], err)
		}
	case <-patience.C:
	case <-ctx.Done():
	}
	return nil
}
