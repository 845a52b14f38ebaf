#!/bin/sh
# Records in the Dockerfile which image the tag of its base has now: the digest of the index, which counts for both architectures. Run it
# after a change of NODE_VERSION, and for fixes of the Debian below Node. Needs Docker's buildx and its registry.
#
#     deploy/images/renew-base.sh
set -eu

dockerfile=$(CDPATH='' cd "$(dirname "$0")" && pwd -P)/Dockerfile
version=$(sed -n 's/^ARG NODE_VERSION=//p' "$dockerfile")
image=node:$version-bookworm-slim
digest=$(docker buildx imagetools inspect "$image" --format '{{.Manifest.Digest}}')
if ! printf '%s\n' "$digest" | grep -qxE 'sha256:[0-9a-f]{64}'; then
  echo "'$digest' is not the digest of $image; nothing is changed" >&2
  exit 1
fi
sed "s/^ARG NODE_DIGEST=.*/ARG NODE_DIGEST=$digest/" "$dockerfile" >"$dockerfile.new"
mv "$dockerfile.new" "$dockerfile"
echo "$image@$digest"
