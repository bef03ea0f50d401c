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

export const COMMON_PASSWORDS: ReadonlySet<string> = new Set(WORDS.trim().split(/\s+/));
