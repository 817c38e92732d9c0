#!/bin/sh
# Slurm's Epilog, as root on each node after a job: sends what the job's user has waiting, with that user's rights. A node
# is given back all the same when the server is not there.
state=${WHYCRASH_STATE:-/var/spool/whycrash}/${SLURM_JOB_UID:?}
[ -d "$state/whycrash/spool" ] || exit 0
XDG_STATE_HOME=$state timeout 60 \
  setpriv --reuid="$SLURM_JOB_UID" --regid="$SLURM_JOB_GID" --clear-groups whycrash spool flush >/dev/null 2>&1
exit 0
