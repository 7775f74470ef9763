package cli

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"strings"

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
	switch f.python {
	case noPython:
		return doctor.Python{}
	case "":
		p := a.askProgram(ctx, "python", f)
		if p.About == nil && strings.Contains(p.Err, "not installed") {
			if other := a.askProgram(ctx, "python3", f); other.About != nil || other.Err != p.Err {
				return other
			}
		}
		return p
	}
	return a.askProgram(ctx, f.python, f)
}

func (a *App) askProgram(ctx context.Context, program string, f *doctorFlags) doctor.Python {
	p := doctor.Python{Program: program}
	site, run := "", ""
	session, err := child.Open(child.Bases(a.LookupEnv), child.Config{Job: "doctor"})
	if err != nil {
		p.NoFolder = err.Error()
	} else {
		defer session.Close()
		site, run = session.Site(), session.Dir()
	}
	limited, cancel := context.WithTimeout(ctx, f.timeout)
	defer cancel()
	out, err := a.GPUs.Run(limited, program, "-c", doctorAsk, site, run, "cuda")
	p.Answers, p.Reached = doctor.ParseAnswers(string(out))
	switch {
	case err != nil && errors.Is(limited.Err(), context.DeadlineExceeded):
		p.Err = fmt.Sprintf("it was stopped after %s", units.FormatDuration(f.timeout))
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
