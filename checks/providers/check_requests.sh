#!/usr/bin/env bash
# Runs check_requests.py in a virtual environment of its own, under target/.
# If Python or its packages cannot be had, the script prints the reason and succeeds, or fails if
# HOLON_CHECKS_NEED_PACKAGES=1 is set, as it is in CI wherever the package index can be reached.
set -euo pipefail
here="$(cd "$(dirname "$0")" && pwd)"
environment="${CARGO_TARGET_DIR:-$here/../../target}/checks/venv-requests"
log="$environment.log"
need="${HOLON_CHECKS_NEED_PACKAGES:-0}"

skip() {
  echo "request bodies are not checked: $1"
  [ "$need" = 0 ] || [ ! -f "$log" ] || tail -n 20 "$log"
  exit "$need"
}

command -v python3 >/dev/null 2>&1 || skip "python3 is not installed"
python3 -c 'import sys; sys.exit(sys.version_info < (3, 10))' || skip "python3 is older than 3.10"

# A complete environment has a copy of the requirements it was made from.
if ! cmp --silent "$here/requirements.txt" "$environment/requirements.txt"; then
  rm -rf "$environment"
  mkdir -p "$(dirname "$environment")"
  python3 -m venv "$environment" >"$log" 2>&1 || skip "python3 cannot create a virtual environment, see $log"
  # Bounded, because there may be no route to the package index. An index that was reached gets more time.
  limits=(40 0 5)
  [ "$need" = 0 ] || limits=(300 3 15)
  timeout "${limits[0]}" "$environment/bin/python" -m pip install --quiet --disable-pip-version-check \
    --retries "${limits[1]}" --timeout "${limits[2]}" --requirement "$here/requirements.txt" >"$log" 2>&1 ||
    skip "the packages cannot be installed, see $log"
  cp "$here/requirements.txt" "$environment/requirements.txt"
fi

exec timeout 120 "$environment/bin/python" "$here/check_requests.py" "$@"
