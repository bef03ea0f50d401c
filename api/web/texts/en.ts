/** English texts of layouts, components and error pages. */
import type { WebTextsOf } from './texts.ts';

export const en: WebTextsOf<'en'> = {
  skip: 'Skip to main content',
  language: 'Language',
  mainNavigation: 'Main',
  home: 'Curbcut home page',
  apiReference: 'API reference',
  signIn: 'Sign in',
  dashboard: 'Dashboard',
  footer: 'Curbcut tests web pages for accessibility with axe-core in a real browser.',
  copy: 'Copy',
  copied: 'Copied',
  copyFailed: 'Could not copy. Select the text and copy it yourself.',
  optional: 'optional',
  problem: { one: 'There is {n} problem', other: 'There are {n} problems' },
  previous: 'Previous',
  next: 'Next',
  pages: 'Pages',
  youAreHere: 'You are here',
  severities: { critical: 'Critical', serious: 'Serious', moderate: 'Moderate', minor: 'Minor' },
  errors: {
    invalid: { title: 'This request cannot be processed', text: 'Go back, check what you entered, and send it again.' },
    forbidden: {
      title: 'You may not do this',
      text: 'Your account does not have the permission for this. Ask an owner of your organisation.',
    },
    blocked: {
      title: 'This account is blocked',
      text: 'Your organisation is blocked: it cannot see or start scans. Ask the operator of this service to unblock it.',
    },
    missing: {
      title: 'Page not found',
      text: 'Check the address. If you followed a link, the page has moved or no longer exists.',
    },
    method: { title: 'This page does not accept that', text: 'Go back and use the buttons and links of the page.' },
    tooLarge: { title: 'That is too much text', text: 'Go back, shorten what you entered, and send it again.' },
    expired: { title: 'This form has expired', text: 'Go back, reload the page, and send the form again.' },
    crossSite: { title: 'This form came from another site', text: 'Open the page of this service, and send its form.' },
    tooMany: { title: 'Too many requests', text: 'Wait a while, then try again.' },
    internal: { title: 'Something went wrong', text: 'The error is on our side and has been logged. Try again later.' },
    unavailable: {
      title: 'The service is temporarily unavailable',
      text: 'A part of the service is down. Try again in a moment.',
    },
    unconfirmed: {
      title: 'This may or may not have been done',
      text: 'A part of the service stopped answering. Check whether what you sent took effect before you send it again.',
    },
    busy: { title: 'The service is busy', text: 'Too many requests of this kind are in progress. Try again in a moment.' },
  },
  requestId: 'If you report this problem, name the request {id}.',
  goHome: 'Go to the home page',
  goBack: 'Go back',
  retryIn: { one: 'Try again in {n} second.', other: 'Try again in {n} seconds.' },
};
