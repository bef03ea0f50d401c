/** The texts of --help. */

import { SCAN_OPTION_HELP, THRESHOLD_HELP, type OptionHelp } from '../options.ts';

const rows = (options: readonly OptionHelp[]): string =>
  options.map(({ option, meaning }) => `  ${option.padEnd(20)} ${meaning}`).join('\n');

const OUTPUT = `Output:
  --pdf FILE           save the PDF report
  --export FILE        save the JSON export
  --json               print the result as JSON, and no progress
  --quiet              print only errors
  --max-wait SECONDS   total time to wait for a service that is unavailable, busy or paused (default 300)`;

const EXITS = `Exit codes:
  0    passed, or done without thresholds
  1    did not pass
  2    no verdict could be determined: invalid arguments, no network, no credits, a scan that failed without thresholds, …
  130  interrupted (143: terminated); the scan continues, and curbcut follow resumes`;

const ENVIRONMENT = `Environment:
  CURBCUT_URL          the address of the service
  CURBCUT_API_KEY      an API key of your organisation
  NO_COLOR             disable colours`;

export const HELP = `curbcut: tests the accessibility of web sites with a Curbcut service.

Usage:
  curbcut scan URL [options]    submit a scan and wait for its verdict
  curbcut follow ID [options]   follow a scan that was submitted earlier
  curbcut --version
  curbcut COMMAND --help        show all options

${EXITS}

${ENVIRONMENT}
`;

export const SCAN_HELP = `Usage: curbcut scan URL [options]

Crawls the site of URL, tests each page, and reports whether the thresholds are met.

Thresholds (without any, every completed scan exits with 0):
${rows(THRESHOLD_HELP)}

Scan:
${rows(SCAN_OPTION_HELP)}

${OUTPUT}

${EXITS}

${ENVIRONMENT}
`;

export const FOLLOW_HELP = `Usage: curbcut follow ID [options]

Follows a scan to its end. The result of a completed scan is printed at once.

${OUTPUT}

${EXITS}

${ENVIRONMENT}
`;
