#!/bin/sh
# Starts Perdure with the Node beside it, from any folder. The shell is replaced (exec), so signals reach the program.
# PERDURE_NODE names another Node (24 or later).
set -eu

self=$0
while [ -L "$self" ]; do # A link in a folder of programs leads to this file.
  target=$(readlink "$self")
  case $target in
    /*) self=$target ;;
    *) self=$(dirname "$self")/$target ;;
  esac
done
home=$(CDPATH='' cd "$(dirname "$self")/.." && pwd -P)
exec "${PERDURE_NODE:-$home/lib/node/bin/node}" "$home/lib/perdure/bin/perdure.mjs" "$@"
