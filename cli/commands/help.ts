/** The texts of --help. */

const OUTPUT = `Output:
  --pdf FILE           save the PDF report
  --export FILE        save the JSON export
  --json               print the result as JSON, and no progress
  --quiet              print nothing but errors
  --max-wait SECONDS   wait so long in all for a service that is away, busy or paused (default 300)`;

const EXITS = `Exit codes:
  0    passed; or done, and no thresholds were set
  1    did not pass
  2    nobody can tell: wrong use, no network, no credits, a scan that failed without thresholds, …
  130  interrupted (143: terminated); the scan goes on, and curbcut follow picks it up again`;

const ENVIRONMENT = `Environment:
  CURBCUT_URL          the address of the service
  CURBCUT_API_KEY      an API key of your organisation
  NO_COLOR             no colours`;

export const HELP = `curbcut: tests the accessibility of web sites with a Curbcut service.

Usage:
  curbcut scan URL [options]    submit a scan and follow it to its verdict
  curbcut follow ID [options]   follow a scan that was submitted before
  curbcut --version
  curbcut COMMAND --help        all options

${EXITS}

${ENVIRONMENT}
`;

export const SCAN_HELP = `Usage: curbcut scan URL [options]

Crawls URL and the pages of its site, tests each, and says whether the thresholds are met.

Thresholds (without one, every scan that ends is good):
  --min-score N        the score must be at least N (0 to 100)
  --max-violations N   there must be at most N violations
  --fail-on SEVERITY   no violation of this severity or worse: critical, serious, moderate, minor

Scan:
  --max-pages N        pages to crawl and test, one credit each (default 5)
  --wcag TARGET        2.1-A, 2.1-AA (default), 2.1-AAA, 2.2-A, 2.2-AA or 2.2-AAA
  --partial            where credits are short, test as many pages as there are credits for
  --idempotency-key K  the same key and options give the same scan for 24 hours, and are charged once

${OUTPUT}

${EXITS}

${ENVIRONMENT}
`;

export const FOLLOW_HELP = `Usage: curbcut follow ID [options]

Follows a scan to its end; one that has ended already is shown at once.

${OUTPUT}

${EXITS}

${ENVIRONMENT}
`;
