#!/bin/sh
# Fails a build when a recorded run reserves more GPU memory than its budget, leaks, or
# ran out of memory.
#
# usage: check.sh RECORDING BUDGET      as in: check.sh run.pickle reserved=20GiB
#
# The report is Markdown. It goes to the job's summary on GitHub, else to standard output.
# Exit code: 0 all is well, 1 the run is at fault, 2 it could not be judged.
set -eu
if [ $# -ne 2 ]; then
	echo "usage: check.sh RECORDING BUDGET" >&2
	exit 2
fi

report=${GITHUB_STEP_SUMMARY:-/dev/stdout}
status=0
ullage explain --markdown --budget "$2" --fail-on leak,oom "$1" >>"$report" || status=$?

case $status in
0) ;;
3) exit 1 ;; # ullage has said which budget or finding it was
*)
	echo "check.sh: $1 could not be judged; is it the recording of a run on a GPU?" >&2
	exit 2
	;;
esac
