/** The words of mails, without those of the report in them. */

export const mail = {
  automatic: 'This mail was sent automatically by Curbcut at {host}. Replies are not read.',
  linkFallback: 'If the button does not work, open this address:',
  statusPage: 'Open the status page',
  validUntil: 'The link works once, until {date}.',
  result: {
    testedAt: 'Tested on',
    done: {
      subject: { one: 'Accessibility result for {site}: {n} violation', other: 'Accessibility result for {site}: {n} violations' },
      subjectNone: 'Accessibility result for {site}: no violations found',
      heading: 'Your accessibility result',
      summary: {
        one: 'The automated test found {n} violation on this page.',
        other: 'The automated test found {n} violations on this page.',
      },
      summaryNone:
        'The automated test found no violations on this page. Automated tests cover only some requirements; please also test with a keyboard and a screen reader.',
      more: { one: 'The result page shows {n} more cause.', other: 'The result page shows {n} more causes.' },
      review: {
        one: 'The tests could not decide about {n} element. The result page says what to check.',
        other: 'The tests could not decide about {n} elements. The result page says what to check.',
      },
      incomplete: 'Parts of the page could not be tested. The result page says what may be missing.',
      button: 'Open the full result',
    },
    failed: {
      subject: 'The accessibility scan of {site} failed',
      heading: 'The scan failed',
      todo: 'What you can do',
      steps: [
        'Open the address in a private browser window. It must load without a sign-in.',
        'Check that a firewall or bot protection does not block automated browsers.',
        'Then request a new scan.',
      ],
    },
    canceled: {
      subject: 'The accessibility scan of {site} was canceled',
      heading: 'The scan was canceled',
      intro: 'The scan of this page was canceled before it finished, so there is no result. You can request a new scan at any time.',
    },
    reason: 'You receive this mail because someone requested a scan at {host} and entered this address.',
    unsubscribe: 'Unsubscribe from scan results',
  },
  invitation: {
    subject: 'Invitation to {organisation} on Curbcut',
    heading: 'You are invited to {organisation}',
    intro: '{invitedBy} invites you to the accessibility dashboard of {organisation} on Curbcut.',
    button: 'Accept the invitation',
    ignore: 'If you did not expect this invitation, ignore this mail.',
  },
  accountNotice: {
    sign_in: {
      subject: 'New sign-in to your Curbcut account',
      heading: 'Sign-in from a new network',
      intro: 'Someone signed in to your account at {host} from a network that you did not use before.',
    },
    password: {
      subject: 'Your Curbcut password was changed',
      heading: 'Your password was changed',
      intro: 'The password of your account at {host} was changed.',
    },
    factors: {
      subject: 'The second factors of your Curbcut account were changed',
      heading: 'Your second factors were changed',
      intro: 'A second factor or the recovery codes of your account at {host} were changed.',
    },
    at: 'Time',
    network: 'Network',
    browser: 'Browser',
    ignore: 'If it was you, you need to do nothing.',
    byAdministrator: 'An administrator of the service made this change. If you asked for it, you need to do nothing.',
    todo: 'If it was not you',
    steps: [
      'Open your account and sign out everywhere.',
      'Set a new password that you use nowhere else.',
      'Inform an owner of your organisation. The audit log shows what was done.',
    ],
    button: 'Open your account',
  },
  passwordReset: {
    subject: 'Set a new password for Curbcut',
    heading: 'Set a new password',
    intro: 'Someone asked for a link to set a new password for your account at {host}.',
    button: 'Set a new password',
    ignore: 'If it was not you, ignore this mail. Your password stays the same.',
  },
  webhookStopped: {
    subject: 'A webhook of {organisation} is disabled',
    heading: 'A webhook is disabled',
    intro: '{host} does not send to the webhook {webhook} of {organisation} any more.',
    gone: 'The endpoint {endpoint} answered that it does not exist any more (410).',
    failing: 'Every attempt to deliver to {endpoint} has failed since {date}.',
    lost: 'What happens until you enable it again is not delivered.',
    button: 'Open the webhook',
  },
};
