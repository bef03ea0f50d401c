/** Addresses to return to after sign-in. */

const HOST = 'http://own.invalid';
const HOME = '/dashboard';
/** Addresses that only lead to a sign-in. */
const SIGN_IN_PATH = /^\/dashboard\/(?:sign-in|sign-out)(?:\/|$)/;
/**
 * The ends of addresses that are no pages: of forms, which show themselves again with errors, and of downloads. A download
 * would leave the browser on the sign-in page, and a browser follows no form to the origin of the object store.
 */
const NO_PAGE =
  /\/(?:report(?:\/json)?|ledger\.csv|name|password|sign-out-everywhere|invitations(?:\/cancel)?|role|remove|again|cancel|begin|recovery-codes|switch|join|decline|confirm|leave)$/;
const MAX_CHARACTERS = 2_000;

/** Returns the address if it is a page of the dashboard, the page of a form or download, else that of the first page. Another site can never be the result. */
export function ownPath(address: string | null | undefined): string {
  if (address == null || address.length > MAX_CHARACTERS || !URL.canParse(address, HOST)) return HOME;
  const { origin, pathname, search } = new URL(address, HOST);
  if (origin !== HOST || SIGN_IN_PATH.test(pathname) || !(pathname === HOME || pathname.startsWith(`${HOME}/`))) return HOME;
  return NO_PAGE.test(pathname) ? pathname.replace(NO_PAGE, '') : pathname + search;
}

/** The sign-in page that leads to an address afterwards. @param unsaved whether it says that a form was not saved */
export function signInPath(address: string, { unsaved = false } = {}): string {
  const path = ownPath(address);
  const query = [path === HOME ? '' : `next=${encodeURIComponent(path)}`, unsaved ? 'unsaved' : ''].filter((part) => part !== '');
  return ['/dashboard/sign-in', ...(query.length === 0 ? [] : [query.join('&')])].join('?');
}
