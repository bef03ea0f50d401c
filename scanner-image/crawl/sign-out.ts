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
const IN_PATH = new RegExp(`(?:^|[/._-])(?:${WORDS})(?:$|[/._-])`, 'i');
const AS_PARAMETER = new RegExp(`^(?:${WORDS})$`, 'i');

/** Whether a link signs out, by its path (`/account/logout`), its hash route or its parameters (`?action=logout`, `?logout=1`). */
export function signsOut(url: URL): boolean {
  return (
    IN_PATH.test(decoded(url.pathname + url.hash)) || [...url.searchParams].some((pair) => pair.some((text) => AS_PARAMETER.test(text)))
  );
}

function decoded(path: string): string {
  try {
    return decodeURIComponent(path);
  } catch {
    return path;
  }
}
