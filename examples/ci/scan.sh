#!/bin/sh
# Scans a URL by a manifest and exits with 0 only if the thresholds are met. Needs kubectl, and a service account that may
# create and get accessibilityscans in the namespace (the ClusterRole edit suffices).
#
#   scan.sh NAMESPACE NAME URL
#
# NAME decides what is a new scan: use the commit. A second run with the same name within a day after the end of the scan
# waits for the same scan and costs nothing.
set -eu
namespace=$1 name=$2 url=$3

kubectl apply --namespace "$namespace" -f - <<EOF
apiVersion: curbcut.dev/v1
kind: AccessibilityScan
metadata:
  name: "$name"
spec:
  url: "$url"
  maxPages: 20
  thresholds: { minScore: 90, failOnSeverity: serious }
  # Deletes the resource a day after the end of the scan; the result and the reports are kept. Without the resource, the same
  # name is a new scan, which is charged.
  ttlSecondsAfterFinished: 86400
EOF

# True at every end: passed, below a threshold, failed, canceled.
kubectl wait --namespace "$namespace" "accessibilityscan/$name" --for=condition=Complete --timeout="${TIMEOUT:-45m}"
kubectl get --namespace "$namespace" "accessibilityscan/$name" \
  -o jsonpath='{.status.phase}: {.status.message}{"\n"}score {.status.score}, {.status.violations.total} violations{"\n"}'
passed=$(kubectl get --namespace "$namespace" "accessibilityscan/$name" \
  -o jsonpath='{.status.conditions[?(@.type=="Passed")].status}')
test "$passed" = True
