/** The text of `curbcut scan --help`. Its options come from core's schemas, which the other commands do not load. */
import { SCAN_OPTION_HELP, THRESHOLD_HELP } from '../options.ts';
import { ENVIRONMENT, EXITS, OUTPUT, rows } from './help.ts';

export const SCAN_HELP = `Usage: curbcut scan URL [options]

Crawls the site of URL, tests each page, and reports whether the thresholds are met.

Examples:
  curbcut scan https://www.example.org/ --max-pages 50 --min-score 90 --fail-on serious
  curbcut scan https://pr-7.example.org/ --baseline branch=main --max-new-violations 0 --export report.json
  curbcut scan http://localhost:3000/ --local --known-issues known.yaml --known-issues-site www.example.org --fail-on minor

Thresholds (without any, every completed scan exits with 0):
${rows(THRESHOLD_HELP)}

Scan:
${rows(SCAN_OPTION_HELP)}

${OUTPUT}

${EXITS}

${ENVIRONMENT}
`;
