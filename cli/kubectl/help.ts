/** The texts of --help of `kubectl curbcut`, but for scan's. */
import { PHASES } from '../../core/scan/phases.ts';
import { FORMAT_HELP, OUTPUT, rows } from '../commands/help.ts';
import { METADATA_HELP } from '../metadata.ts';
import { KUBECTL_FLAG_HELP } from './flags.ts';

const FLAGS = `Options of kubectl:
${rows(KUBECTL_FLAG_HELP)}`;

const MAX_WAIT = `  --max-wait SECONDS   total time to wait for a Kubernetes API that is unavailable, and for a scan that is held back, for
                       example by a paused queue (default 300); it does not limit its turn in the queue or the scan itself`;

export const KUBE_OUTPUT = `${OUTPUT.slice(0, OUTPUT.indexOf('  --max-wait'))}${MAX_WAIT}

${FLAGS}`;

export const KUBE_EXITS = `Exit codes:
  0    passed, or done without thresholds
  1    did not pass
  2    no verdict could be determined: invalid arguments, no permission, a scan that failed without thresholds or was deleted, …
  130  interrupted (143: terminated); the scan continues: kubectl curbcut follow resumes, kubectl curbcut cancel ends it`;

export const KUBE_ENVIRONMENT = `Environment:
  KUBECONFIG           as for kubectl
  CURBCUT_URL          the address of Curbcut's API; only for reports, differences and positions in a queue
  CURBCUT_API_KEY      an API key of your organisation, for the same
  NO_COLOR             disable colours`;

export const HELP = `kubectl curbcut: tests the accessibility of web sites with AccessibilityScans in a Kubernetes cluster.

Usage:
  kubectl curbcut scan URL [options]           create an AccessibilityScan and wait for its verdict
  kubectl curbcut follow NAME [options]        follow a scan
  kubectl curbcut cancel NAME [options]        cancel a scan
  kubectl curbcut list [options]               list scans
  kubectl curbcut report NAME [options]        get the reports of a scan
  kubectl curbcut diff BEFORE AFTER            compare two scans: new, fixed and unchanged violations
  kubectl curbcut queue [NAME] [options]       list the queues, or the scans that wait in one
  kubectl curbcut run schedule/NAME [options]  run a ScanSchedule now
  kubectl curbcut --version
  kubectl curbcut COMMAND --help               show all options and examples

Examples:
  kubectl curbcut scan https://shop.example.com/ --min-score 90 -n shop
  kubectl curbcut run schedule/nightly -n shop --wait

${KUBE_EXITS}

${KUBE_ENVIRONMENT}
`;

export const FOLLOW_HELP = `Usage: kubectl curbcut follow NAME [options]

Follows a scan to its end. The result of a completed scan is printed at once.

Examples:
  kubectl curbcut follow shop-example-com-1f2e3d4c -n shop

${KUBE_OUTPUT}

${KUBE_EXITS}

${KUBE_ENVIRONMENT}
`;

export const CANCEL_HELP = `Usage: kubectl curbcut cancel NAME [options]

Cancels a scan: sets spec.cancel. Its tested pages are charged and have a partial report, the other credits are released.

Examples:
  kubectl curbcut cancel shop-example-com-1f2e3d4c -n shop

Options:
${FORMAT_HELP}
  --quiet              print only errors
${MAX_WAIT}

${FLAGS}

Exit codes:
  0    the scan is being canceled, or was canceled before
  1    the scan has already ended otherwise
  2    the scan could not be canceled: an unknown name, no permission, …
`;

export const LIST_HELP = `Usage: kubectl curbcut list [options]

Lists the AccessibilityScans of a namespace, newest first.

Examples:
  kubectl curbcut list --status queued -A

Options:
  --status STATUS      only scans in this phase: ${PHASES.join(', ')}
  --metadata KEY=VALUE only scans with this pair, such as branch=main; may be given several times
  --limit N            the maximum number of scans (default: all)
  -A, --all-namespaces the scans of all namespaces
${FORMAT_HELP}
${MAX_WAIT}

${FLAGS}

Exit codes:
  0    the scans were listed, even if the list is empty
  2    the scans could not be listed: no permission, invalid arguments, …
`;

export const QUEUE_HELP = `Usage: kubectl curbcut queue [NAME] [options]

Lists the ScanQueues: of the namespace of -n, otherwise of all namespaces or, without permission for that, of the context's.
With NAME it also lists the scans that wait in the queue, in their order. The order comes from Curbcut's API, which knows it
for the scans of your organisation; without CURBCUT_URL and CURBCUT_API_KEY the scans are listed without it.

Examples:
  kubectl curbcut queue default

Options:
${FORMAT_HELP}
${MAX_WAIT}

${FLAGS}

Exit codes:
  0    the queues were listed
  2    the queues could not be listed: an unknown name, no permission, …

${KUBE_ENVIRONMENT}
`;

export const RUN_HELP = `Usage: curbcut run schedule/NAME [options]
       kubectl curbcut run schedule/NAME [options]

Runs a ScanSchedule now, in addition to its times, and prints the name of the scan. It needs kubectl.

Examples:
  curbcut run schedule/nightly -n shop --wait

Options:
  --wait               follow the scan to its end, and exit by its verdict
${rows(METADATA_HELP)}

${KUBE_OUTPUT}

Exit codes:
  0    the scan was created; with --wait: it passed, or is done without thresholds
  1    with --wait: it did not pass
  2    no scan was created, or it is unknown (no permission, no operator, a schedule that may not run now, …); with --wait also:
       no verdict could be determined
  130  interrupted (143: terminated); the request stays, and a scan continues

${KUBE_ENVIRONMENT}
`;
