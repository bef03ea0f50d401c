/**
 * Which new passwords are accepted (NIST SP 800-63B-4): length and nothing expected, no rules about kinds of characters. A
 * password is the only factor, so it needs 15 characters.
 */

export const PASSWORD_MIN_CHARACTERS = 15;
export const PASSWORD_MAX_CHARACTERS = 1024;

/** The name of the service, which is an expected password. */
const SERVICE = 'curbcut';
/** A password of one repeated part of at most this length, or of one sequence, is as easy to guess as that part. */
const REPEATED_MAX = 8;
const SEQUENCES = [
  'abcdefghijklmnopqrstuvwxyz',
  '01234567890123456789',
  'qwertyuiopasdfghjklzxcvbnm',
  'qwertzuiopasdfghjklyxcvbnm',
  'azertyuiopqsdfghjklmwxcvbn',
];

export type PasswordProblem = 'too_short' | 'too_long' | 'expected';

/** What the user can do about each problem. */
export const PASSWORD_PROBLEMS: Readonly<Record<PasswordProblem, string>> = {
  too_short: `Use at least ${PASSWORD_MIN_CHARACTERS} characters; several words are easy to remember.`,
  too_long: `Use at most ${PASSWORD_MAX_CHARACTERS} characters.`,
  expected: 'This password is easy to guess; choose one that is not a common word, your address, a sequence or a repetition.',
};

/** Returns why a new password is rejected, or null. @param context.known values that others expect, such as the e-mail address */
export function passwordProblem(password: string, { known = [] }: { known?: readonly string[] } = {}): PasswordProblem | null {
  const normal = password.normalize('NFKC');
  if ([...normal].length < PASSWORD_MIN_CHARACTERS) return 'too_short';
  if (password.length > PASSWORD_MAX_CHARACTERS) return 'too_long';
  const lower = normal.toLowerCase();
  const expected = new Set([SERVICE, ...known.flatMap(partsOf)]);
  const isExpected = (text: string): boolean => expected.has(text) || COMMON_PASSWORDS.has(text);
  const forms = [lower, core(lower), compact(lower), core(compact(lower))];
  return forms.some((form) => isExpected(form) || isRepeated(form, isExpected) || isSequence(form)) ? 'expected' : null;
}

/** An e-mail address, and its parts. */
function partsOf(value: string): string[] {
  const lower = value.normalize('NFKC').toLowerCase();
  return [lower, ...lower.split('@'), ...lower.split(/[^\p{L}\p{N}]+/u)].flatMap((part) => (part.length >= 3 ? [part, compact(part)] : []));
}

/** Without the digits and signs around it that users add to a word. */
const core = (text: string): string => text.replace(/^[^\p{L}]+|[^\p{L}]+$/gu, '');
const compact = (text: string): string => text.replace(/[^\p{L}\p{N}]+/gu, '');

/** Whether the text repeats a short part, or an expected one of any length. */
function isRepeated(text: string, isExpected: (part: string) => boolean): boolean {
  for (let length = 1; length <= text.length / 2; length += 1) {
    const part = text.slice(0, length);
    const repeats = part.repeat(Math.ceil(text.length / length)).slice(0, text.length) === text;
    if (repeats && (length <= REPEATED_MAX || isExpected(part))) return true;
  }
  return false;
}

function isSequence(text: string): boolean {
  if (text.length < REPEATED_MAX) return false;
  const reversed = [...text].reverse().join('');
  return SEQUENCES.some((sequence) => [text, reversed].some((one) => (sequence + sequence).includes(one)));
}

/**
 * Words and short phrases that are common passwords, in lower case without spaces. With the minimum length of
 * `core/passwords.ts`, only their repetitions, and their forms with digits and signs around them, are long enough to be typed.
 */
const WORDS = `
  password passwort motdepasse wachtwoord haslo kennwort contrasena senha parola passcode passphrase changeme changeit letmein
  welcome willkommen bienvenue welkom witamy hello hallo bonjour admin administrator root toor user username login signin
  default guest test testing tester demo example sample secret geheim topsecret private master qwerty qwertz azerty asdfgh
  asdfghjkl zxcvbn zxcvbnm yxcvbnm iloveyou ichliebedich jetaime kochamcie loveyou lovely love babygirl sweetheart princess
  sunshine superman batman spiderman starwars pokemon naruto dragon monkey tiger lion eagle falcon shadow phoenix football
  fussball voetbal soccer baseball basketball hockey tennis liverpool chelsea arsenal barcelona realmadrid juventus ajax
  summer winter spring autumn january february march april june july august september october november december monday friday
  michael jennifer jessica ashley daniel jordan thomas robert andrew charlie matthew joshua anthony william george martin
  computer internet google facebook microsoft windows apple samsung linux ubuntu server database network security cloud
  kubernetes docker website wordpress office company business work home family freedom forever flower chocolate cookie coffee
  whatever trustno trustme nothing something anything everything access accessibility correcthorse correcthorsebattery
  correcthorsebatterystaple thequickbrownfox thequickbrownfoxjumpsoverthelazydog maytheforcebewithyou thisismypassword
  mypassword yourpassword newpassword oldpassword temppassword temporarypassword temporary supersecret supersecretpassword
  passwordpassword adminpassword administratorpassword userpassword letmeinplease openthedoor opensesame abracadabra
  nevergonnagiveyouup winteriscoming harrypotter lordoftherings gameofthrones hunter cheese mustang corvette ferrari mercedes
  porsche killer ninja samurai hacker matrix merlin gandalf pepper ginger buster jasper bailey maggie snoopy scooby doodle
  onetwothree onetwothreefour einszweidrei undeuxtrois password1234 qwerty1234 abcd1234 abc123 a1b2c3d4 p@ssw0rd passw0rd
  pa55word p455w0rd letmein123 iloveyou123 welcome123 q1w2e3r4 q1w2e3r4t5 q1w2e3r4t5y6 1q2w3e4r 1q2w3e4r5t 1q2w3e4r5t6y
  1qaz2wsx 1qaz2wsx3edc zaq12wsx qazwsx qazwsxedc qazwsxedcrfv qweasdzxc qweasd asdzxc poiuytrewq mnbvcxz lkjhgfdsa
  1029384756 147258369 123qweasdzxc 123123 123321 112233 121212 131313 111222333 123abc abc123abc
`;

const COMMON_PASSWORDS: ReadonlySet<string> = new Set(WORDS.trim().split(/\s+/));
