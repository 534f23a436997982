export const usage = `usage: sched COMMAND --url URL [options]

  migrate                        create or update the tables; with --print it prints the DDL and connects to nothing
  tasks                          the tasks and their states
  executions [TASK]              the latest executions; --state STATE, --limit N
  locks [TASK]                   who holds the gates of tasks; with TASK also when it is free
  explain TASK TIME              why a fire time did or did not run; TIME as 2027-03-28T01:00:00Z
  pause TASK                     no further slot is claimed; --reason TEXT
  resume TASK                    ends paused and stalled
  trigger TASK                   runs it once, as soon as it is free; --key KEY makes a repeat harmless
  cancel EXECUTION               ends what waits, asks what runs to end
  retry EXECUTION                one further attempt of what failed, was skipped or missed
  reschedule TASK CRON           another schedule until cleared with --clear; --time-zone ZONE

options: --namespace NAME (default: as the instances derive it), --schema NAME, --prefix PREFIX, --dialect MODULE, --json, --help

exit codes: 0 done, 1 refused, failed or nothing to do, 2 unreachable, 64 usage
`
