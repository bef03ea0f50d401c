// Fills times.json with what robfig/cron, the parser of Kubernetes' CronJob, answers. The test that reads the file
// (core/schedule/cron/robfig-cron.test.ts) does not need Go. To add a case, add its schedule, timeZone and after to
// the file, then run in this folder: go run . times.json && npx prettier --write times.json
package main

import (
	"encoding/json"
	"os"
	"time"
	_ "time/tzdata"

	"github.com/robfig/cron/v3"
)

// Case is one schedule, and its first runs after a time or the fact that it is refused.
type Case struct {
	Schedule string    `json:"schedule"`
	TimeZone string    `json:"timeZone,omitempty"`
	After    time.Time `json:"after"`
	Count    int       `json:"count"`
	Refused  bool      `json:"refused,omitempty"`
	Runs     []string  `json:"runs,omitempty"`
	// What Curbcut answers instead, and why. Kept as it is.
	Curbcut json.RawMessage `json:"curbcut,omitempty"`
}

func answer(c *Case) {
	c.Refused, c.Runs = false, nil
	zone, err := time.LoadLocation(c.TimeZone)
	if err != nil {
		c.Refused = true
		return
	}
	schedule, err := cron.ParseStandard(c.Schedule)
	if err != nil {
		c.Refused = true
		return
	}
	for at := schedule.Next(c.After.In(zone)); !at.IsZero() && len(c.Runs) < c.Count; at = schedule.Next(at) {
		c.Runs = append(c.Runs, at.UTC().Format(time.RFC3339))
	}
}

func main() {
	path := os.Args[1]
	text, err := os.ReadFile(path)
	if err != nil {
		panic(err)
	}
	var cases []Case
	if err := json.Unmarshal(text, &cases); err != nil {
		panic(err)
	}
	for i := range cases {
		answer(&cases[i])
	}
	out, err := json.MarshalIndent(cases, "", "  ")
	if err != nil {
		panic(err)
	}
	if err := os.WriteFile(path, append(out, '\n'), 0o644); err != nil {
		panic(err)
	}
}
