import { expect } from 'chai';
import { addressOf } from './address.ts';
import { destructiveRule, destructiveWordsOf, type DestructiveWord } from './destructive.ts';

const at = (path: string): ReturnType<typeof addressOf> => addressOf(new URL(path, 'https://example.org'));

/** Addresses that change something, with the words that say so. */
const DESTRUCTIVE: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  'to delete and to remove': {
    '/users/7/delete': 'delete',
    '/delete/7': 'delete',
    '/posts/delete-post.php?id=3': 'delete',
    '/deleteUser/7': 'delete',
    '/users/bulkDelete': 'delete',
    '/USERS/7/DELETE/': 'DELETE',
    '/api/v2/items:delete': 'delete',
    '/?action=delete&id=7': 'delete',
    '/items?delete=7': 'delete',
    '/?q=node/7/delete': 'delete',
    '/index.php?controller=address&delete&id_address=4': 'delete',
    '/deleteaccount': 'delete',
    '/konto/l%C3%B6schen': 'löschen',
    '/konto/l%F6schen': 'löschen',
    '/konto-loeschen': 'loeschen',
    '/konto?aktion=l%F6schen': 'löschen',
    '/warenkorb/entfernen/5': 'entfernen',
    '/compte/supprimer': 'supprimer',
    '/panier?action=effacer': 'effacer',
    '/account/verwijderen': 'verwijderen',
    '/cache/wissen': 'cache wissen',
    '/konto/usu%C5%84': 'usuń',
    '/koszyk/usun/7': 'usun',
    '/cart/remove?id=5': 'remove',
    '/cart/?remove_item=9f8e7d6c&_wpnonce=1': 'remove',
    '/cart/removeFromCart': 'remove',
    '/files/del/7': 'del',
    '/admin/purge-cache': 'purge',
  },
  'to cancel': {
    '/orders/9/cancel?confirm=1': 'cancel',
    '/cancelSubscription': 'cancel',
    '/checkout/?cancel_order=true&order=5': 'cancel',
    '/bestellung/9/stornieren': 'stornieren',
    '/vertrag/k%C3%BCndigen': 'kündigen',
    '/vertrag/kuendigen': 'kuendigen',
    '/commandes/9/annuler': 'annuler',
    '/contrat/r%C3%A9silier': 'résilier',
    '/bestellingen/9/annuleren': 'annuleren',
    '/abonnement/opzeggen': 'opzeggen',
    '/zamowienia/9/anuluj': 'anuluj',
    '/sessions/4/revoke': 'revoke',
  },
  'to clear and to close': {
    '/admin/cache/clear': 'clear',
    '/clear-cache/all': 'clear',
    '/clearCart': 'clear',
    '/cart/empty': 'empty',
    '/?empty_cart=yes': 'empty',
    '/?op=clear': 'clear',
    '/index.php?route=cart/clear': 'clear',
    '/#/account/close': 'close',
    '/tickets/5/close': 'close',
    '/warenkorb/leeren': 'leeren',
    '/warenkorbleeren': 'leeren',
    '/konto/schlie%C3%9Fen': 'schließen',
    '/panier/vider': 'vider',
    '/compte/fermer': 'fermer',
    '/winkelwagen/leegmaken': 'leegmaken',
    '/koszyk/wyczysc': 'wyczysc',
  },
  'to pay and to buy': {
    '/invoices/9/pay': 'pay',
    '/pay-now': 'pay',
    '/products/7/buy': 'buy',
    '/buy/7': 'buy',
    '/checkout/confirm': 'checkout confirm',
    '/checkout/placeOrder': 'place order',
    '/orders/9/confirm': 'orders confirm',
    '/rechnung/9/bezahlen': 'bezahlen',
    '/jetzt-kaufen': 'kaufen',
    '/zahlungspflichtig-bestellen': 'zahlungspflichtig bestellen',
    '/facture/9/payer': 'payer',
    '/valider-la-commande': 'valider la commande',
    '/factuur/9/betalen': 'betalen',
    '/bestelling/plaatsen': 'bestelling plaatsen',
    '/kup-teraz': 'kup',
    '/faktura/9/zap%C5%82a%C4%87': 'zapłać',
  },
  'to unsubscribe': {
    '/?do=unsubscribe': 'unsubscribe',
    '/unsubscribe-from-all-mailing-lists': 'unsubscribe',
    '/newsletter/opt-out': 'opt out',
    '/newsletter/abbestellen': 'abbestellen',
    '/newsletter/d%C3%A9sinscription': 'désinscription',
    '/nieuwsbrief/uitschrijven': 'uitschrijven',
    '/newsletter/wypisz': 'wypisz',
  },
  'to sign out': {
    '/logout': 'logout',
    '/users/sign_out': 'sign out',
    '/account/log-off/': 'log off',
    '/Logout.aspx': 'Logout',
    '/wp-login.php?action=logout&nonce=1': 'logout',
    '/?logout=1': 'logout',
    '/index.php?route=account/logout': 'logout',
    '/?q=user/logout': 'logout',
    '/index.php?option=com_users&task=user.logout': 'logout',
    '/index.php?title=Special:UserLogout': 'logout',
    '/?cmd=doLogout': 'logout',
    '/app/doLogout.do': 'logout',
    '/LogoutServlet': 'logout',
    '/Account/UserLogOff': 'log off',
    '/%E0/logout': 'logout',
    '/#/account/logout': 'logout',
    '/#!account/logout': 'logout',
    '/#/account?do=logout': 'logout',
    '/oidc/end_session': 'end session',
    '/abmelden': 'abmelden',
    '/konto/ausloggen': 'ausloggen',
    '/d%C3%A9connexion': 'déconnexion',
    '/deconnexion/x': 'deconnexion',
    '/uitloggen': 'uitloggen',
    '/wyloguj': 'wyloguj',
    '/cerrar-sesion': 'cerrar sesion',
  },
};

const NOT_DESTRUCTIVE: Readonly<Record<string, readonly string[]>> = {
  'contain a word within another one': [
    ...['/deleted-scenes', '/clearance', '/cancellation-policy', '/payment-methods', '/removal-services', '/cancelled-flights'],
    ...['/payments', '/buyers-guide', '/closet', '/disclosure', '/undeleted', '/removable-media', '/closed-captions', '/emptying-bins'],
    ...['/blogouts', '/catalogout', '/signal/offers', '/escitalopram', '/log/outages', '/catalogOutlet', '/?name=BlogOutdoor', '/model'],
    ...['/loeschung', '/kuendigungsfristen', '/stornobedingungen', '/verkaufen', '/zahlungsarten', '/abmeldungen', '/kaufberatung'],
    ...['/suppression', '/annulation', '/conditions-d-annulation', '/paiement', '/acheteurs', '/effacement', '/fermeture'],
    ...['/verwijderd', '/annulering', '/betaalmethoden', '/koopgids', '/uitschrijving', '/usuniete', '/anulowanie', '/kupon', '/kupony'],
    ...['/account/deletion', '/order/confirmation', '/removal', '/%C5%82adowanie', '/l%C3%B6schung'],
  ],
  'have a word with other meanings beside others': [
    ...['/clear-skin', '/close-up', '/close-to-you', '/clear-aligners/prices', '/empty-nest-syndrome', '/drop-shipping', '/casa-del-sol'],
    ...['/ways-to-pay', '/pay-as-you-go', '/pay-monthly-phones', '/buy-to-let', '/best-buy', '/buy/houses/london', '/koop/amsterdam'],
    ...['/haus-kaufen', '/zahlen-und-fakten', '/wissen', '/te-koop', '/acheter-une-maison', '/kup-mieszkanie', '/payer-en-ligne'],
    ...['/?colour=clear', '/?status=close', '/?filter=empty', '/?type=buy', '/purchase-orders/7', '/checkout', '/confirm-email'],
  ],
  'are titles of texts': [
    ...[
      '/how-do-i-cancel-my-order',
      '/blog/2024-05-why-we-delete-old-posts',
      '/wie-kann-ich-mein-konto-loeschen',
      '/jak-moge-teraz-usunac-konto',
    ],
    ...['/comment-puis-je-supprimer-mon-compte'],
  ],
  'search for a word': [
    ...['/search?q=how+to+logout', '/?q=delete', '/search?query=cancel', '/?s=unsubscribe', '/search?q=how userLogout works'],
    ...['/search?q=route%20to%20account/logout%20page', '/suche?suche=abmelden', '/?search=pay'],
  ],
  'have nothing to do with it': ['/', '/login', '/?page=2', '/#/settings', '/konto', '/%E4%B8%AD', '/%', '/orders/9?sort=price'],
};

describe('an address', () => {
  for (const [what, addresses] of Object.entries(DESTRUCTIVE))
    it(`says that it serves ${what}`, () => {
      const found = Object.fromEntries(Object.keys(addresses).map((path) => [path, destructiveWordsOf(at(path))[0]]));
      expect(Object.fromEntries(Object.entries(found).map(([path, destructive]) => [path, destructive?.word]))).to.deep.equal(addresses);
      for (const [path, destructive] of Object.entries(found)) expect(destructive?.signsOut, path).to.equal(what === 'to sign out');
    });

  it('says so if letters are encoded', () => {
    for (const path of Object.values(DESTRUCTIVE).flatMap((addresses) => Object.keys(addresses))) {
      const encoded = path.replace(/[a-z]/gi, (letter) => `%${letter.charCodeAt(0).toString(16)}`);
      if (!/[%#]/.test(path)) expect(destructiveWordsOf(at(encoded)), encoded).to.not.deep.equal([]);
    }
  });

  for (const [which, paths] of Object.entries(NOT_DESTRUCTIVE))
    it(`is not destructive if its words ${which}`, () => {
      for (const path of paths) expect(destructiveWordsOf(at(path)), path).to.deep.equal([]);
    });

  it('says nothing by its anchor', () => expect(destructiveWordsOf(new URL('https://example.org/help#delete'))).to.deep.equal([]));
});

describe('a destructive address', () => {
  const left = (include: string[], path: string): DestructiveWord['word'] | undefined => destructiveRule(include)(at(path))?.word;

  it('is allowed by a glob that names its word', () => {
    for (const [glob, path] of [
      ['/orders/*/cancel', '/orders/9/cancel?confirm=1'],
      ['**/delete', '/users/7/delete'],
      ['**delete*', '/users/7/deleteUser'],
      ['/?action=delete*', '/?action=delete&id=7'],
      ['/cart/clear', '/cart/clear'],
      ['/**/log*out', '/account/log-out'],
      ['/konto/löschen', '/konto/l%C3%B6schen'],
      ['/konto/l%C3%B6schen', '/konto/l%C3%B6schen'],
      ['/orders/*/confirm', '/orders/9/confirm'],
      ['/#/account/close', '/#/account/close'],
    ] as const)
      expect(left([glob], path), `${glob} for ${path}`).to.equal(undefined);
    expect(left(['/blog/**', '/orders/*/cancel'], '/orders/9/cancel')).to.equal(undefined);
  });

  it('is not allowed by wildcards, by a part of the word, or by another word', () => {
    for (const [glob, path, word] of [
      ['/**', '/orders/9/cancel', 'cancel'],
      ['/orders/**', '/orders/9/cancel', 'cancel'],
      ['**can*', '/orders/9/cancel', 'cancel'],
      ['/cancellation-policy/**', '/cancellation-policy/cancel', 'cancel'],
      ['/users/*/cancel', '/orders/9/cancel', 'cancel'],
      ['/cart/clear', '/cart/clear?then=logout', 'logout'],
    ] as const)
      expect(left([glob], path), `${glob} for ${path}`).to.equal(word);
    expect(left([], '/orders/9/cancel')).to.equal('cancel');
  });
});
