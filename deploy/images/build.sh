#!/bin/sh
# Builds the images of Perdure with Docker's buildx, for both architectures, and pushes them; or builds them for this machine alone.
#
#     deploy/images/build.sh REGISTRY VERSION         e.g. ghcr.io/perdure 0.1.0: builds and pushes perdure-<image>:VERSION
#     deploy/images/build.sh --load REGISTRY VERSION  for this machine, into its engine
#
# IMAGES names some of them: IMAGES="worker registry". NODE_IMAGE names another place of the base image than Docker's registry, with the digest
# that the Dockerfile has: NODE_IMAGE=registry.example.org/node:24.21.0-bookworm-slim@sha256:… SOURCE is the address of the repository, for a label.
#
# Pushed images have a bill of materials of everything in them and the provenance of the build beside them. DIGESTS names a file that gets a line
# for each pushed image, REGISTRY/perdure-<image>@sha256:…: what is signed, and what the chart is given as digests.
set -eu

root=$(CDPATH='' cd "$(dirname "$0")/../.." && pwd -P)
how=--push
platforms=linux/amd64,linux/arm64
if [ "${1:-}" = --load ]; then
  how=--load
  platforms= # The engine's own.
  shift
fi
if [ $# -ne 2 ]; then
  sed -n '2,11s/^# \{0,1\}//p' "$0" >&2
  exit 2
fi
registry=$1
version=$2
metadata=$(mktemp)
trap 'rm -f "$metadata"' EXIT
revision=$(git -C "$root" rev-parse HEAD 2>/dev/null || echo unknown)

for image in ${IMAGES:-server worker registry gateway admin tenancy tenancy-local cloud-gateway tunnel-relay tunnel-client operator cli}; do
  echo "── perdure-$image:$version"
  docker buildx build "$root" --file "$root/deploy/images/Dockerfile" --target "$image" "$how" \
    ${platforms:+--platform "$platforms"} --build-arg VERSION="$version" --build-arg REVISION="$revision" \
    ${NODE_IMAGE:+--build-arg NODE_IMAGE="$NODE_IMAGE"} ${SOURCE:+--build-arg SOURCE="$SOURCE"} \
    ${platforms:+--sbom=true --provenance=mode=max} --metadata-file "$metadata" \
    --tag "$registry/perdure-$image:$version"
  if [ -n "${DIGESTS:-}" ]; then
    digest=$(sed -n 's/.*"containerimage.digest": *"\(sha256:[0-9a-f]*\)".*/\1/p' "$metadata")
    echo "$registry/perdure-$image@${digest:?the engine reported no digest}" >>"$DIGESTS"
  fi
done
