/** English texts of mails. */
import type { MailTextsOf } from './texts.ts';

export const en: MailTextsOf<'en'> = {
  disclaimer: 'Findings are automated test results only and are not compliance evidence or legal certification.',
  automatic: 'This mail was sent automatically by Curbcut at {host}. Replies are not read.',
  linkFallback: 'If the button does not work, open this address:',
  result: {
    page: 'Page',
    testedAt: 'Tested on',
    done: {
      subject: { one: 'Accessibility result for {site}: {n} violation', other: 'Accessibility result for {site}: {n} violations' },
      subjectNone: 'Accessibility result for {site}: no violations found',
      heading: 'Your accessibility result',
      score: 'Score',
      outOf: '{score} out of 100',
      summary: {
        one: 'The automated test found {n} violation on this page.',
        other: 'The automated test found {n} violations on this page.',
      },
      summaryNone:
        'The automated test found no violations on this page. Automated tests cover only some requirements; please also test with a keyboard and a screen reader.',
      bySeverity: 'Violations by severity',
      severity: 'Severity',
      number: 'Violations',
      total: 'Total',
      worst: 'Fix these first',
      elements: { one: '{n} element', other: '{n} elements' },
      why: 'Why it matters',
      fix: 'How to fix it',
      element: 'Affected element',
      more: { one: 'The result page shows {n} more cause.', other: 'The result page shows {n} more causes.' },
      button: 'Open the full result',
    },
    failed: {
      subject: 'The accessibility scan of {site} failed',
      heading: 'The scan failed',
      intro: 'We could not test this page, so there is no result.',
      details: 'Message of the scanner',
      todo: 'What you can do',
      steps: [
        'Open the address in a private browser window. It must load without a sign-in.',
        'Check that a firewall or bot protection does not block automated browsers.',
        'Then request a new scan.',
      ],
      button: 'Open the status page',
    },
    canceled: {
      subject: 'The accessibility scan of {site} was canceled',
      heading: 'The scan was canceled',
      intro: 'The scan of this page was canceled before it finished, so there is no result. You can request a new scan at any time.',
      button: 'Open the status page',
    },
    reason: 'You receive this mail because someone requested a scan at {host} and entered this address.',
    unsubscribe: 'Unsubscribe from scan results',
    severities: { critical: 'Critical', serious: 'Serious', moderate: 'Moderate', minor: 'Minor' },
  },
  invitation: {
    subject: 'Invitation to {organisation} on Curbcut',
    heading: 'You are invited to {organisation}',
    intro: '{invitedBy} invites you to the accessibility dashboard of {organisation} on Curbcut.',
    button: 'Accept the invitation',
    validUntil: 'The link works once, until {date}.',
    ignore: 'If you did not expect this invitation, ignore this mail.',
  },
  passwordReset: {
    subject: 'Set a new password for Curbcut',
    heading: 'Set a new password',
    intro: 'Someone asked for a link to set a new password for your account at {host}.',
    button: 'Set a new password',
    validUntil: 'The link works once, until {date}.',
    ignore: 'If it was not you, ignore this mail. Your password stays the same.',
  },
};
