#!/bin/sh
# NOT RUN: written without a container engine at hand; see up.sh.
#
# Removes the cluster of deploy/kind/up.sh with everything in it, its data too. Images stay in the engine.
set -eu
kind delete cluster --name perdure
