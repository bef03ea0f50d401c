/** Recognises links that sign out. A scan that signs in must not follow them. Pure. */

/** Words for signing out, as they are written in paths and parameters. */
const WORDS = [
  '(?:log|sign)[-_]?(?:out|off)',
  '(?:log|sign)ged[-_]?out',
  'abmelden|abmeldung|ausloggen',
  '(?:se[-_])?d[eé]connexion|d[eé]connecter',
  'uitloggen|afmelden',
  'wyloguj|wylogowanie',
  'cerrar[-_]?sesi[oó]n|desconectar',
  'esci|disconnetti',
  'end[-_]?session',
].join('|');
/** What the other expressions have in common. Most addresses have no such word, and their parameters are not parsed. */
const ANYWHERE = new RegExp(WORDS, 'i');
const IN_PATH = new RegExp(`(?:^|[/._-])(?:${WORDS})(?:$|[/._-])`, 'i');
/** A parameter that is the word, or whose route ends with it: `logout`, `account/logout`, `user.logout`, `Special:Logout`. */
const AS_PARAMETER = new RegExp(`(?:^|[/.:])(?:${WORDS})$`, 'i');
/** The word as a part of a name: `doLogout`, `UserLogOff`, `LogoutServlet`. */
const IN_NAME = /[a-z](?:Log|Sign)(?:[Oo]ut|[Oo]ff)(?![a-z])|(?<![A-Za-z])(?:[Ll]og|[Ss]ign)(?:[Oo]ut|[Oo]ff)(?=[A-Z])/;

/** Whether a link signs out, by its path (`/account/logout`), its hash route or its parameters (`?action=logout`, `?route=account/logout`). */
export function signsOut({ pathname, search, hash }: Pick<URL, 'pathname' | 'search' | 'hash'>): boolean {
  const address = pathname + search + hash;
  if (!ANYWHERE.test(address) && !address.includes('%')) return false;
  const path = decoded(pathname + hash);
  if (IN_PATH.test(path) || IN_NAME.test(path)) return true;
  return [...new URLSearchParams(search)].some((pair) =>
    pair.some((text) => AS_PARAMETER.test(text) || (!/\s/.test(text) && IN_NAME.test(text))),
  );
}

function decoded(path: string): string {
  try {
    return decodeURIComponent(path);
  } catch {
    return path;
  }
}
