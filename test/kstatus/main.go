// Prints the verdicts of kstatus, by which Flux and Helm judge resources. Reads a JSON list of Kubernetes objects from the
// standard input, and writes a JSON list of their statuses in the same order.
package main

import (
	"encoding/json"
	"fmt"
	"os"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/cli-utils/pkg/kstatus/status"
)

type verdict struct {
	Status  string `json:"status"`
	Message string `json:"message"`
}

func run() error {
	var objects []json.RawMessage
	if err := json.NewDecoder(os.Stdin).Decode(&objects); err != nil {
		return fmt.Errorf("the standard input must be a JSON list of objects: %w", err)
	}
	verdicts := make([]verdict, 0, len(objects))
	for index, text := range objects {
		// This decoder keeps integers, which kstatus needs to compare generations.
		object := &unstructured.Unstructured{}
		if err := object.UnmarshalJSON(text); err != nil {
			return fmt.Errorf("object %d: %w", index, err)
		}
		result, err := status.Compute(object)
		if err != nil {
			return fmt.Errorf("%s %s: %w", object.GetKind(), object.GetName(), err)
		}
		verdicts = append(verdicts, verdict{Status: result.Status.String(), Message: result.Message})
	}
	return json.NewEncoder(os.Stdout).Encode(verdicts)
}

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
