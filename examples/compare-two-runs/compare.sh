#!/bin/sh
# Writes a comment for a merge request: what the run of the branch holds more or less than
# that of the main line, and whether it leaks.
#
# usage: compare.sh MAIN BRANCH >comment.md
#
# Both are recordings of the same steps of the same program. Exit code 3: the branch leaks.
set -eu
if [ $# -ne 2 ]; then
	echo "usage: compare.sh MAIN BRANCH" >&2
	exit 2
fi

ullage explain --markdown --redact --top 5 --against "$1" "$2"
echo
ullage explain --markdown --redact --top 5 --fail-on leak "$2"
