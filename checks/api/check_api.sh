#!/usr/bin/env bash
# Sends generated requests of the OpenAPI document to a host of the built program, on loopback, and checks the answers.
# If Python or its packages cannot be had, the script prints the reason and succeeds, or fails if
# HOLON_CHECKS_NEED_PACKAGES=1 is set, as it is in CI wherever the package index can be reached.
set -euo pipefail
here="$(cd "$(dirname "$0")" && pwd)"
target="${CARGO_TARGET_DIR:-$here/../../target}"
environment="$target/checks/venv-api"
log="$environment.log"
need="${HOLON_CHECKS_NEED_PACKAGES:-0}"

skip() {
  echo "the API is not checked with generated requests: $1"
  [ "$need" = 0 ] || [ ! -f "$log" ] || tail -n 20 "$log"
  exit "$need"
}

holon="${HOLON_BIN:-$target/debug/holon}"
[ -x "$holon" ] || skip "$holon is not built"
command -v python3 >/dev/null 2>&1 || skip "python3 is not installed"
python3 -c 'import sys; sys.exit(sys.version_info < (3, 10))' || skip "python3 is older than 3.10"

# A complete environment has a copy of the requirements it was made from.
if ! cmp --silent "$here/requirements.txt" "$environment/requirements.txt"; then
  rm -rf "$environment"
  mkdir -p "$(dirname "$environment")"
  python3 -m venv "$environment" >"$log" 2>&1 || skip "python3 cannot create a virtual environment, see $log"
  # Bounded, because there may be no route to the package index. An index that was reached gets more time.
  limits=(90 0 5)
  [ "$need" = 0 ] || limits=(300 3 15)
  timeout "${limits[0]}" "$environment/bin/python" -m pip install --quiet --disable-pip-version-check \
    --retries "${limits[1]}" --timeout "${limits[2]}" --requirement "$here/requirements.txt" >"$log" 2>&1 ||
    skip "the packages cannot be installed, see $log"
  cp "$here/requirements.txt" "$environment/requirements.txt"
fi

home="$(mktemp -d)"
host=""
finish() {
  if [ -n "$host" ]; then
    kill "$host" 2>/dev/null || true
    wait "$host" 2>/dev/null || true
  fi
  rm -rf "$home"
}
trap finish EXIT

# Every turn ends at once, and nothing is fetched from outside.
printf '{"rounds": [{"text": "done"}], "on_end": "repeat_last"}' >"$home/script.json"
printf '[github]\nbase_url = "http://127.0.0.1:9"\n' >"$home/config.toml"
env -i PATH="$PATH" HOME="$home" HOLON_HOME="$home" HOLON_MODEL="scripted/$home/script.json" \
  "$holon" serve --listen 127.0.0.1:0 >"$home/out.txt" 2>"$home/err.txt" &
host=$!
for _ in $(seq 100); do
  [ -s "$home/run/daemon.json" ] && break
  kill -0 "$host" 2>/dev/null || { cat "$home/err.txt"; exit 1; }
  sleep 0.1
done
read_field() { python3 -c 'import json, sys; print(json.load(open(sys.argv[1]))[sys.argv[2]])' "$home/run/daemon.json" "$1"; }
address="http://$(read_field http_addr)"

outcome=0
cd "$home"
timeout 600 "$environment/bin/schemathesis" --config-file "$here/schemathesis.toml" run "$address/openapi.json" \
  --header "Authorization: Bearer $(head -n 1 "$home/run/control.token")" \
  --exclude-path /control/runtime/shutdown --exclude-path-regex '/(import|stream)$' \
  --phases coverage,fuzzing --max-examples "${API_EXAMPLES:-6}" --seed "${API_SEED:-17}" --workers 1 || outcome=$?
if ! kill -0 "$host" 2>/dev/null; then
  echo "the host ended during the run:"
  tail -n 20 "$home/err.txt"
  outcome=1
fi
if grep --quiet "a handler panicked" "$home/err.txt"; then
  grep "a handler panicked" "$home/err.txt"
  outcome=1
fi
exit "$outcome"
