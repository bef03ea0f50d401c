/** The text of `kubectl curbcut scan --help`. */
import { MANIFEST_OPTION_HELP, THRESHOLD_HELP } from '../../options.ts';
import { rows } from '../../commands/help.ts';
import { KUBE_ENVIRONMENT, KUBE_EXITS, KUBE_OUTPUT } from '../help.ts';

export const SCAN_HELP = `Usage: kubectl curbcut scan URL [options]

Creates an AccessibilityScan in the current namespace, follows it, and reports whether the thresholds are met. The
organisation that owns the namespace is charged.

Examples:
  kubectl curbcut scan https://shop.example.com/ --max-pages 50 --min-score 90 -n shop
  kubectl curbcut scan https://shop.example.com/ --queue nightly --priority 5 --name shop-1

Thresholds (without any, every completed scan exits with 0):
${rows(THRESHOLD_HELP)}

Scan:
${rows(MANIFEST_OPTION_HELP)}

${KUBE_OUTPUT}

${KUBE_EXITS}

${KUBE_ENVIRONMENT}
`;
