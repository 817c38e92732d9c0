#!/usr/bin/env bash
# Gathers seeds for every target: the labelled corpus, the tests' fixtures, and what seeds.py and symbol_seeds.py make.
# Nothing of it is kept in git. Usage: seed.sh FOLDER (one folder a target below it).
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
seeds=$1
largest=200k

mkdir -p "$seeds"
python3 -B "$here/seeds.py" "$seeds"
python3 -B "$here/symbol_seeds.py" "$seeds"

# gather TARGET FOLDER PATTERN…: copies small files, named by their content so that equal ones are one.
gather() {
  local target=$1 folder=$2 pattern
  shift 2
  mkdir -p "$seeds/$target"
  for pattern in "$@"; do
    find "$folder" -type f -size -$largest -name "$pattern" -print0 |
      while IFS= read -r -d '' file; do
        cp "$file" "$seeds/$target/$(sha256sum <"$file" | cut -c1-16)"
      done
  done
}

fixtures=$here/../evidence/tests/fixtures
corpus=$(cargo run -q --manifest-path "$root/Cargo.toml" -p whycrash-corpus -- folder)
gather text "$corpus" '*.log' '*.txt'
gather text "$fixtures" '*.txt'
gather memory_snapshot "$corpus" '*.pickle'
gather memory_snapshot "$fixtures/memory_snapshots" '*.pickle'
gather flight_recorder "$corpus" 'nccl_trace_rank_*'
gather flight_recorder "$fixtures/flight_recorder" '*.pickle' '*.json'
gather dcgm "$corpus" '*diag*.json'
gather sanitizer_xml "$corpus" '*.xml'
gather nccl_ras "$corpus" '*ras*.json' 'a.json'
gather nccl_inspector "$corpus" 'node-9-pid*.log'
gather torchcomms_log "$corpus" '*.clog' 'clog_rank_*.log'
gather bug_report "$corpus" 'nvidia-bug-report.log'
gather minidump "$fixtures/minidumps" '*.dmp'
for target in memory_snapshot flight_recorder; do gather pickle "$seeds/$target" '*'; done
for target in elf_core gpu_core minidump memory_snapshot flight_recorder text py_spy context elastic \
  dcgm sanitizer_xml nccl_ras nccl_inspector torchcomms_log bug_report; do
  gather any "$seeds/$target" '*'
done

# Compressed seeds, by whatever is installed here.
mkdir -p "$seeds/input"
for file in "$seeds"/{elf_core,context,elastic}/*; do
  name=$(basename "$file")
  cp "$file" "$seeds/input/$name"
  for tool in gzip zstd lz4; do
    if command -v $tool >/dev/null; then $tool -c "$file" >"$seeds/input/$name.$tool"; fi
  done
done
gather any "$seeds/input" '*'
