/**
 * Words of addresses that change something when they are requested: to delete, cancel, remove, clear, pay, buy, unsubscribe and
 * sign out, in the languages of Curbcut. Accents and umlauts are ignored in addresses.
 *
 * An entry is the source of a regular expression. A space in it is any separator of an address, or none.
 */
interface Words {
  signOut: readonly string[];
  /** Words that mean nothing else. */
  certain: readonly string[];
  /** Words that have other meanings too. They count only alone, or with words of `company`: `/cart/clear`, not `/clear-skin`. */
  ambiguous: readonly string[];
  /** What is deleted, cancelled or paid, and other words of actions. */
  company: readonly string[];
}

const en: Words = {
  signOut: ['(?:log|sign)(?:ged|ed)? out', '(?:log|sign) off', 'end session'],
  certain: [
    ...['delete', 'remove', 'erase', 'destroy', 'purge', 'discard', 'cancel', 'revoke', 'terminate', 'deactivate'],
    ...['unsubscribe', 'unregister', 'opt out'],
    '(?:orders?|checkout|purchase|payment) (?:confirm|submit)',
    'order place',
    '(?:confirm|submit|place|complete) (?:my |the )?(?:order|purchase|payment)',
  ],
  ambiguous: ['del', 'rm', 'clear', 'empty', 'flush', 'wipe', 'trash', 'drop', 'close', 'abort', 'pay', 'buy', 'withdraw'],
  company: [
    ...['a', 'all', 'and', 'any', 'from', 'it', 'me', 'my', 'now', 'ok', 'the', 'this', 'with', 'yes', 'your'],
    ...['action', 'ajax', 'api', 'asp', 'aspx', 'cgi', 'click', 'confirm', 'confirmed', 'do', 'htm', 'html', 'json', 'jsp', 'php'],
    ...['account', 'accounts', 'basket', 'bill', 'bills', 'bin', 'booking', 'cache', 'caches', 'card', 'cart', 'comment', 'customer'],
    ...['data', 'database', 'db', 'entry', 'file', 'files', 'folder', 'history', 'inbox', 'invoice', 'invoices', 'issue', 'item', 'items'],
    ...['list', 'log', 'logs', 'member', 'membership', 'message', 'messages', 'notification', 'notifications', 'order', 'orders'],
    ...['paypal', 'plan', 'post', 'product', 'products', 'profile', 'queue', 'record', 'reservation', 'session', 'sessions', 'storage'],
    ...['subscription', 'subscriptions', 'table', 'ticket', 'tickets', 'trash', 'user', 'users', 'wishlist'],
  ],
};

const de: Words = {
  signOut: ['abmelden', 'abmeldung', 'ausloggen'],
  certain: [
    ...['löschen?', 'entfernen?', 'stornieren?', 'storno', 'kündigen?', 'abbestellen', 'abbrechen', 'widerrufen', 'deaktivieren?'],
    ...[
      'verwerfen',
      '(?:zahlungs|kosten)pflichtig bestellen',
      '(?:bestellung|kauf|zahlung) (?:abschicken|absenden|bestätigen|abschließen)',
    ],
  ],
  ambiguous: ['leeren?', 'schließen', 'beenden', 'vernichten', 'austragen', 'bezahlen', 'zahlen', 'kaufen'],
  company: [
    ...['alle', 'alles', 'das', 'den', 'der', 'die', 'jetzt', 'mein', 'meine', 'meinen', 'mit', 'sofort', 'und'],
    ...['abo', 'artikel', 'benutzer', 'bestellung', 'bestellungen', 'buchung', 'daten', 'einkaufswagen', 'konto', 'korb', 'kunde', 'liste'],
    ...['merkliste', 'nachricht', 'nachrichten', 'nutzer', 'papierkorb', 'produkt', 'rechnung', 'rechnungen', 'reservierung', 'sitzung'],
    ...['verlauf', 'vertrag', 'warenkorb', 'wunschliste'],
  ],
};

const fr: Words = {
  signOut: ['déconnexion', 'déconnecter'],
  certain: [
    ...['supprimer?', 'effacer', 'enlever', 'détruire', 'annuler', 'résilier', 'révoquer', 'désactiver', 'désabonner', 'désabonnement'],
    ...['désinscrire', 'désinscription', '(?:passer|valider|confirmer) (?:la |ma )?commande', 'commande (?:valider|confirmer)'],
    '(?:valider|confirmer) (?:le |mon )?(?:paiement|achat)',
  ],
  ambiguous: ['vider', 'fermer', 'clôturer', 'retirer', 'payer', 'acheter', 'régler'],
  company: [
    ...['de', 'des', 'du', 'et', 'l', 'la', 'le', 'les', 'ma', 'maintenant', 'mes', 'mon', 'tous', 'tout', 'toute', 'toutes', 'un', 'une'],
    ...['abonnement', 'article', 'articles', 'commande', 'commandes', 'compte', 'contrat', 'corbeille', 'données', 'facture', 'factures'],
    ...['favoris', 'historique', 'liste', 'panier', 'produit', 'réservation', 'utilisateur'],
  ],
};

const nl: Words = {
  signOut: ['uitloggen', 'log uit', 'afmelden'],
  certain: [
    ...['verwijder(?:en)?', 'annuleer', 'annuleren', 'opzeggen', 'uitschrijven', 'deactiveren', 'intrekken', 'leegmaken'],
    // German sites have much to know (Wissen).
    '(?:alles|cache|gegevens|geschiedenis) wissen',
    ...['(?:bestelling|betaling) (?:plaatsen|bevestigen)', '(?:plaats|bevestig) (?:bestelling|betaling)'],
  ],
  ambiguous: ['wis', 'legen', 'sluiten', 'betaal', 'betalen', 'koop', 'kopen'],
  company: [
    ...['direct', 'een', 'en', 'het', 'mijn', 'nu'],
    ...['artikelen', 'bericht', 'berichten', 'bestelling', 'bestellingen', 'boeking', 'factuur', 'gebruiker', 'gegevens', 'geschiedenis'],
    ...['lijst', 'mandje', 'prullenbak', 'rekening', 'reservering', 'sessie', 'verlanglijst', 'winkelmand', 'winkelmandje'],
    ...['winkelwagen', 'winkelwagentje'],
  ],
};

const pl: Words = {
  signOut: ['wyloguj', 'wylogowanie'],
  certain: [
    ...['usuń', 'usunąć', 'skasuj', 'kasuj', 'anuluj', 'anulować', 'odwołaj', 'zrezygnuj', 'wypisz', 'wyrejestruj', 'odsubskrybuj'],
    ...['dezaktywuj', 'opróżnij', '(?:złóż|potwierdź) (?:zamówienie|płatność)', 'zamówienie (?:złóż|potwierdź)', 'zamawiam i płacę'],
  ],
  ambiguous: ['wyczyść', 'zamknij', 'wycofaj', 'zapłać', 'opłać', 'kup', 'kupuję'],
  company: [
    ...['i', 'moj', 'moje', 'się', 'teraz', 'twoje', 'wszystkie', 'wszystko', 'z'],
    ...['dane', 'faktura', 'fakturę', 'historia', 'historię', 'konta', 'koszyk', 'koszyka', 'lista', 'listę', 'produkty', 'rezerwację'],
    ...['sesja', 'sesję', 'subskrypcję', 'użytkownik', 'użytkownika', 'wiadomości', 'wiadomość', 'zamówienia', 'zamówienie'],
  ],
};

/** Languages of which only the words to sign out are known. */
const others: Words = { signOut: ['cerrar sesión', 'desconectar', 'esci', 'disconnetti'], certain: [], ambiguous: [], company: [] };

const LANGUAGES = [en, de, fr, nl, pl, others];

export const HARMFUL_WORDS: Words = {
  signOut: LANGUAGES.flatMap(({ signOut }) => signOut),
  certain: LANGUAGES.flatMap(({ certain }) => certain),
  ambiguous: LANGUAGES.flatMap(({ ambiguous }) => ambiguous),
  company: LANGUAGES.flatMap(({ company }) => company),
};

/** Parameters that say what to do. An ambiguous word counts in their values only: `?action=clear`, not `?colour=clear`. */
export const ACTION_NAMES: ReadonlySet<string> = new Set([
  ...['action', 'aktion', 'actie', 'akcja', 'cmd', 'command', 'do', 'event', 'func', 'function', 'method', 'op', 'operation', 'route'],
  ...['submit', 'task'],
]);

/** Parameters with a text to search for, or with another address. Their names do not count, and their values only if they are paths. */
export const TEXT_NAMES: ReadonlySet<string> = new Set([
  ...['k', 'keyword', 'keywords', 'q', 'query', 's', 'search', 'term', 'terms', 'text', 'uri', 'url'],
  ...['recherche', 'suche', 'szukaj', 'zoeken'],
]);
