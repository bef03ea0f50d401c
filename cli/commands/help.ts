/** The texts of --help, but for scan's. */
import { KNOWN_ISSUE_MAX_DAYS } from '../../core/scan/known-issues.ts';
import { PHASES } from '../../core/scan/phases.ts';
import { COMMENT_CAUSES, COMMENT_MAX_CHARACTERS } from '../../report/comment/limits.ts';
import type { OptionHelp } from '../options.ts';

const OPTION_WIDTH = 20;

/** Renders options, one per line; the meaning of a long one is on a line of its own. */
export const rows = (options: readonly OptionHelp[]): string =>
  options
    .map(({ option, meaning }) => {
      const gap = option.length > OPTION_WIDTH ? `\n${' '.repeat(OPTION_WIDTH + 2)}` : ' '.repeat(OPTION_WIDTH - option.length);
      return `  ${option}${gap} ${meaning}`;
    })
    .join('\n');

export const MAX_WAIT = `  --max-wait SECONDS   total time to wait for a service that is unavailable, busy or paused (default 300);
                       it does not limit the scan itself`;

export const FORMAT_HELP = `  -o, --output FORMAT  json, yaml, or wide (text with more details). With json and yaml no progress is shown
  --json               the same as -o json`;

export const OUTPUT = `Output:
  --pdf FILE           save the PDF report
  --export FILE        save the JSON export
  --sarif FILE         save SARIF 2.1.0, for code scanning
  --junit FILE         save JUnit XML, for test reports of CI systems
  --codequality FILE   save Code Quality, for merge requests of GitLab
  --earl FILE          save EARL 1.0 as JSON-LD, for accessibility tools
${FORMAT_HELP}
  --quiet              print only errors
${MAX_WAIT}`;

export const EXITS = `Exit codes:
  0    passed, or done without thresholds
  1    did not pass
  2    no verdict could be determined: invalid arguments, no network, no credits, a scan that failed without thresholds, …
  130  interrupted (143: terminated); the scan continues: curbcut follow resumes, curbcut cancel ends it`;

export const ENVIRONMENT = `Environment:
  CURBCUT_URL          the address of the service, if not that of curbcut login
  CURBCUT_API_KEY      an API key of your organisation for the service of CURBCUT_URL
  NO_COLOR             disable colours`;

export const HELP = `curbcut: tests the accessibility of web sites with a Curbcut service.

Usage:
  curbcut scan URL [options]    submit a scan and wait for its verdict
  curbcut follow ID [options]   follow a scan that was submitted earlier
  curbcut cancel ID [options]   cancel a scan
  curbcut list [options]        list the scans of your organisation
  curbcut report ID [options]   get the reports of a scan
  curbcut diff BEFORE AFTER     compare two scans: new, fixed and unchanged violations
  curbcut comment FILE|ID       write the result as a comment on a pull request
  curbcut accept SCAN           accept violations until a date, in a KnownIssues manifest
  curbcut open [ID]             print the address of a scan in the dashboard, and open it
  curbcut login [URL]           store the service's address and an API key
  curbcut logout                remove what curbcut login has stored
  curbcut completion SHELL      print the script for completion with Tab: bash, zsh or fish
  curbcut --version
  curbcut COMMAND --help        show all options and examples

ID is that of a scan, its first four or more characters, or latest.

Examples:
  curbcut login https://curbcut.example.org
  curbcut scan https://www.example.org/ --max-pages 50 --fail-on serious
  curbcut report latest --pdf report.pdf
  curbcut open

${EXITS}

${ENVIRONMENT}
`;

export const FOLLOW_HELP = `Usage: curbcut follow ID [options]

Follows a scan to its end. The result of a completed scan is printed at once.

Examples:
  curbcut follow latest
  curbcut follow 3f2b8c1e --pdf report.pdf

${OUTPUT}

${EXITS}

${ENVIRONMENT}
`;

export const REPORT_HELP = `Usage: curbcut report ID [options]

Prints links to the reports of a scan that is done, or saves the reports to files. It waits for a scan that is not complete
for as long as --max-wait says.

Examples:
  curbcut report latest --pdf report.pdf --sarif report.sarif
  curbcut report 3f2b8c1e --json

${OUTPUT}

Exit codes:
  0    the links were printed, or the reports were saved
  2    there are no reports, or they could not be saved: an unknown ID, a scan that did not complete, no network, …

${ENVIRONMENT}
`;

export const CANCEL_HELP = `Usage: curbcut cancel ID [options]

Cancels a scan. Its tested pages are charged and have a partial report, the other credits are released. The scan ends when the
report is stored, within seconds and after a minute at most; curbcut follow waits for its end.

Examples:
  curbcut cancel 3f2b8c1e

Options:
${FORMAT_HELP}
  --quiet              print only errors
${MAX_WAIT}

Exit codes:
  0    the scan is being canceled, or was canceled before
  1    the scan has already ended otherwise
  2    the scan could not be canceled: an unknown ID, invalid arguments, no network, …

${ENVIRONMENT}
`;

export const LIST_HELP = `Usage: curbcut list [options]

Lists the scans of your organisation, newest first.

Examples:
  curbcut list --status failed
  curbcut list --metadata branch=main --limit 100 -o wide

Options:
  --status STATUS      only scans in this phase: ${PHASES.join(', ')}
  --metadata KEY=VALUE only scans with this pair, such as branch=main; may be given several times
  --limit N            the maximum number of scans (1 to 1000, default 20)
${FORMAT_HELP}
                       In the data, next_cursor is null if there are no more scans
${MAX_WAIT}

Exit codes:
  0    the scans were listed, even if the list is empty
  2    the scans could not be listed: invalid arguments, a rejected key, no network, …

${ENVIRONMENT}
`;

export const COMMENT_HELP = `Usage: curbcut comment FILE [options]
       curbcut comment ID [options]

Makes the text of one comment from a JSON export, or from the scan with this ID: the verdict, the numbers, and the root causes of
new violations with how to fix them. Prints it as Markdown, or writes it on the pull request of this job. The next run updates
the same comment.

Examples:
  curbcut comment report.json --github
  curbcut comment latest --max-causes 3

Options:
  --github             write it on the pull request of this job on GitHub: GITHUB_TOKEN, and what GitHub sets for a job
  --gitlab             write it on the merge request of this job on GitLab: GITLAB_TOKEN, and what GitLab sets for a job
  --pull-request N     another pull request or merge request than that of this job
  --print              print the text too
  --annotations        print the root causes as annotations of a job on GitHub
  --name NAME          tells several comments of one pull request apart (default: the host of the site)
  --link URL           where the whole report is (default: its page in the dashboard of the service that it was read from,
                       or for a file that of CURBCUT_URL; a scan with --local has none)
  --max-causes N       the number of root causes to describe (default ${COMMENT_CAUSES})
  --max-characters N   the longest text that the system accepts (default ${COMMENT_MAX_CHARACTERS}, for GitHub and GitLab)
  --quiet              print only errors
${MAX_WAIT}

Exit codes:
  0    the comment was printed or written, or this job has no pull request
  2    it was not: a missing permission, an export that cannot be read, no network, …

${ENVIRONMENT}
`;

export const ACCEPT_HELP = `Usage: curbcut accept ID --all | --fingerprint F | --rule R --selector S [options]
       curbcut accept FILE …

Accepts violations of a scan, or of a JSON export, until a date: writes them into a KnownIssues manifest, which you commit and apply
or use with curbcut scan --local --known-issues. Scans then judge their thresholds without them. Without a choice, it lists the root
causes.

Examples:
  curbcut accept report.json --all --reason "Found before we tested." --owner "web team" --until 2027-01-31 -o known-issues.yaml
  curbcut accept latest --rule image-alt --selector 'header > .logo' --reason "Redesign in May." --owner ada --until 2027-05-31

What is accepted:
  --all                all root causes with violations that are not known yet
  --fingerprint F      this root cause; may be given several times
  --rule R --selector S
                       the elements of this rule with exactly this selector

Why, and how long (all three are needed):
  --reason TEXT        why it is accepted
  --owner NAME         who sees to it that it is fixed: a person or a team
  --until DATE         the end, such as 2027-01-31, at most ${KNOWN_ISSUE_MAX_DAYS} days ahead. From then on it counts as a violation again

Options:
  -o, --output FILE    write into this file, beside what it has; without it the manifest is printed
  --name NAME          the name of the manifest (default: that of the file, else made from the host of the site)
  --site HOST          the host in the manifest, if it is not that of the scan, as for a preview
  --quiet              print only errors
${MAX_WAIT}

Exit codes:
  0    the manifest was written, or there is nothing to accept
  2    it was not: no choice, an unknown root cause, a file that cannot be read or is not valid, no network, …

${ENVIRONMENT}
`;

export const OPEN_HELP = `Usage: curbcut open [ID]

Prints the address of a scan in the dashboard, of the latest one without ID. Opens it in the browser if there is a display.

Examples:
  curbcut open
  curbcut open 3f2b8c1e

Options:
${MAX_WAIT}

Exit codes:
  0    the address was printed
  2    there is no such scan, or no service

${ENVIRONMENT}
`;

export const LOGIN_HELP = `Usage: curbcut login [URL]

Stores the address of the service and an API key for the commands on this machine, in curbcut/login.json below XDG_CONFIG_HOME
(default: ~/.config), readable only by you. The key is read from the terminal, or from standard input, and checked with the
service. CURBCUT_URL and CURBCUT_API_KEY in the environment precede what is stored; a stored key is sent only to its service,
and one in the environment only to that of CURBCUT_URL.

Examples:
  curbcut login https://curbcut.example.org
  pass show curbcut | curbcut login https://curbcut.example.org

Options:
${MAX_WAIT}

Exit codes:
  0    the login was stored
  2    it was not: the key is not accepted, no network, …

${ENVIRONMENT}
`;

export const LOGOUT_HELP = `Usage: curbcut logout

Removes what curbcut login has stored. The API key stays valid until somebody revokes it.

Examples:
  curbcut logout

Exit codes:
  0    nothing is stored any more
  2    it could not be removed

${ENVIRONMENT}
`;

export const COMPLETION_HELP = `Usage: curbcut completion bash|zsh|fish

Prints the script by which a shell completes commands, options, their values, and scans with Tab. Scans are those of the service that
curbcut login or the environment names; without one they are left out.

Examples:
  eval "$(curbcut completion bash)"                               in ~/.bashrc
  eval "$(curbcut completion zsh)"                                in ~/.zshrc, after compinit
  curbcut completion fish >~/.config/fish/completions/curbcut.fish

Exit codes:
  0    the script was printed
  2    there is no script for this shell
`;

export const DIFF_HELP = `Usage: curbcut diff BEFORE AFTER [options]

Compares two scans that are done; shows the violations that are new, fixed, or on
pages that the second scan did not test. An element that moved or was rendered again is not new.

Examples:
  curbcut diff 3f2b8c1e latest

Options:
  --exit-zero          exit with 0 whatever the comparison shows
${FORMAT_HELP}
  --quiet              print only errors
${MAX_WAIT}

Exit codes:
  0    there are no new violations
  1    there are new violations
  2    the scans could not be compared: an unknown ID, a scan without a JSON export, invalid arguments, no network, …
       Or the later scan was canceled, and the pages that it tested have no new violations.

${ENVIRONMENT}
`;
