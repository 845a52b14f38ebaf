#!/bin/sh
# NOT RUN: written without a container engine at hand. Read by ShellCheck, its objects accepted by a real API server; never executed.
#
# A cluster of kind with a cell of Perdure, an environment, and the greeter on it, which is called. Wants docker with buildx, kind, kubectl, helm
# and curl. Does nothing twice: started again it continues where it was. deploy/kind/down.sh removes all of it.
set -eu

here=$(CDPATH='' cd "$(dirname "$0")" && pwd -P)
root=$(CDPATH='' cd "$here/../.." && pwd -P)
registry=perdure.local
version=0.1.0
environment=env-0123456789ab
images="worker registry gateway admin tenancy cloud-gateway operator example-greeter"
port=${PORT:-18080}

for program in docker kind kubectl helm curl; do
  command -v "$program" >/dev/null || {
    echo "$program is not installed" >&2
    exit 1
  }
done

echo "── cluster"
kind get clusters | grep -qx perdure || kind create cluster --config "$here/cluster.yaml"
kubectl config use-context kind-perdure

echo "── images"
IMAGES=$images "$root/deploy/images/build.sh" --load "$registry" "$version"
docker pull redis:7.4
for image in $images; do
  kind load docker-image --name perdure "$registry/perdure-$image:$version"
done
kind load docker-image --name perdure redis:7.4

echo "── database"
kubectl create namespace perdure-system --dry-run=client --output=yaml | kubectl apply --filename=-
kubectl apply --filename="$here/postgres.yaml"
kubectl --namespace=perdure-system rollout status statefulset/postgres --timeout=5m

echo "── cell"
helm upgrade --install perdure "$root/charts/perdure" --namespace=perdure-system --values="$here/values.yaml" --wait --timeout=10m

echo "── environment"
kubectl apply --filename="$here/environment.yaml"
kubectl wait --for=condition=Ready "environments.perdure.dev/$environment" --timeout=10m

echo "── greeter"
kubectl apply --filename="$here/greeter.yaml"
kubectl --namespace=greeter wait --for=condition=Ready servicedeployments.perdure.dev/greeter --timeout=5m

echo "── call"
kubectl --namespace="$environment" port-forward service/runtime "$port:8080" >/dev/null &
forward=$!
trap 'kill "$forward"' EXIT
for _ in 1 2 3 4 5 6 7 8 9 10; do
  curl --silent --output /dev/null "http://127.0.0.1:$port/" && break
  sleep 1
done
curl --fail --silent --show-error "http://127.0.0.1:$port/Greeter/greet" --header 'content-type: application/json' --data '"kind"'
echo
echo "It stays up. deploy/kind/down.sh removes it."
