# Sourced by demo, test and check: finds Python, names missing Debian packages in one sentence, keeps the environment.

cd "$(dirname "${BASH_SOURCE[0]}")/.."
VENV=${TACID_VENV:-.venv}

find_python() {
  local candidate
  for candidate in ${PYTHON:-} python3 python3.13 python3.12 python3.11; do
    if "$candidate" -c 'import sys; sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, 13))' 2>/dev/null; then
      PYTHON=$candidate
      return
    fi
  done
  echo "tacid needs Python 3.11, 3.12 or 3.13; install it (Debian: sudo apt-get install python3 python3-venv)." >&2
  exit 1
}

need_debian_packages() {
  local missing=()
  "$PYTHON" -c 'import venv, ensurepip' 2>/dev/null || missing+=(python3-venv)
  "$PYTHON" -c 'import ctypes; ctypes.CDLL("libgomp.so.1")' 2>/dev/null || missing+=(libgomp1)
  if [ ${#missing[@]} -gt 0 ]; then
    echo "tacid needs ${missing[*]}; install with: sudo apt-get install ${missing[*]}" >&2
    exit 1
  fi
}

# install WHAT... : puts the project and WHAT into the environment, unless that was done for this very pyproject.toml
install() {
  local stamp
  stamp="$* $("$PYTHON" -c 'import hashlib, sys; print(hashlib.sha256(open("pyproject.toml", "rb").read()).hexdigest())')"
  if [ "$(cat "$VENV/.installed-$1" 2>/dev/null)" != "$stamp" ]; then
    [ -x "$VENV/bin/python" ] || "$PYTHON" -m venv "$VENV"
    "$VENV/bin/python" -m pip install --quiet --disable-pip-version-check --upgrade 'pip>=25.1'
    "$VENV/bin/python" -m pip install --quiet "${@:2}" -e '.[engine]'
    echo "$stamp" >"$VENV/.installed-$1"
  fi
}

find_python
need_debian_packages
