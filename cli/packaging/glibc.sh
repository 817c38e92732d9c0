#!/usr/bin/env bash
# Prints the newest version of glibc that a program needs; with a second argument, fails when that is newer.
#   cli/packaging/glibc.sh PROGRAM [NEWEST]
set -euo pipefail
needed=$(objdump -T "$1" | grep -oE 'GLIBC_[0-9.]+' | sort -Vu | tail -n 1 | cut -d_ -f2)
echo "$needed"
if [ -n "${2:-}" ] && [ "$(printf '%s\n' "$needed" "$2" | sort -V | tail -n 1)" != "$2" ]; then
  echo "$1 needs glibc $needed, which is newer than $2; it comes from:" >&2
  objdump -T "$1" | grep -F "GLIBC_$needed" >&2
  exit 1
fi
