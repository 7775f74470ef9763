package cli

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/ullage-dev/ullage/internal/child"
	"github.com/ullage-dev/ullage/internal/client"
	"github.com/ullage-dev/ullage/internal/doctor"
	"github.com/ullage-dev/ullage/internal/units"
)

// doctorAsk is the program that asks an interpreter.
//
//go:embed doctor_ask.py
var doctorAsk string

// noPython is the value of --python that asks none.
const noPython = "none"

// askPython asks the interpreter that the user means, within the time that it has.
func (a *App) askPython(ctx context.Context, f *doctorFlags) doctor.Python {
	if f.python == noPython {
		return doctor.Python{}
	}
	ask := asker{app: a, timeout: f.timeout}
	session, err := child.Open(child.Bases(a.LookupEnv), child.Config{Job: "doctor"})
	if err != nil {
		ask.noFolder = err.Error()
	} else {
		defer session.Close()
		ask.site, ask.run = session.Site(), session.Dir()
	}
	if f.python != "" {
		return ask.program(ctx, f.python)
	}
	p := ask.program(ctx, "python")
	if p.About == nil && strings.Contains(p.Err, "not installed") {
		return ask.program(ctx, "python3")
	}
	return p
}

// asker asks interpreters.
type asker struct {
	app       *App
	timeout   time.Duration
	site, run string // of the companion
	noFolder  string // why there are none
}

func (k *asker) program(ctx context.Context, name string) doctor.Python {
	p := doctor.Python{Program: name, NoFolder: k.noFolder}
	limited, cancel := context.WithTimeout(ctx, k.timeout)
	defer cancel()
	out, err := k.app.GPUs.Run(limited, name, "-c", doctorAsk, name, k.site, k.run)
	p.Answers, p.Reached = doctor.ParseAnswers(string(out))
	switch {
	case err != nil && errors.Is(limited.Err(), context.DeadlineExceeded):
		p.Stopped = true
		p.Err = fmt.Sprintf("it was stopped after %s", units.FormatDuration(k.timeout))
	case err != nil:
		p.Err = err.Error()
	case p.Reached != "end":
		p.Err = "it ended without an answer"
	}
	return p
}

// askAgent tells whether the agent that commands would speak with answers.
func (a *App) askAgent(ctx context.Context, f *doctorFlags) doctor.Agent {
	agent := doctor.Agent{Socket: a.agentSocket(f.socket)}
	_, err := a.Files.Stat(agent.Socket)
	agent.There = err == nil || f.socket != "" || a.env(client.SocketVariable) != ""
	if !agent.There {
		return agent
	}
	ctx, cancel := context.WithTimeout(ctx, agentDeadline)
	defer cancel()
	c := client.New(agent.Socket)
	defer c.Close()
	about, err := c.About(ctx)
	if err != nil {
		agent.Err, agent.Hint = err.Error(), strings.Join(hints(err), "; ")
		return agent
	}
	agent.Version, agent.Problem = about.Version, about.Problem
	return agent
}
