#!/bin/sh
# Slurm's TaskProlog: what it prints as `export NAME=value` is in the environment of every task. Jobs that are started
# under `whycrash run` send their reports to this server, and keep them where the node's Epilog finds them.
echo "export WHYCRASH_SERVER=${WHYCRASH_SERVER:-https://crashes.example}"
echo "export XDG_STATE_HOME=${WHYCRASH_STATE:-/var/spool/whycrash}/$(id -u)"
