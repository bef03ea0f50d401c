import { expect } from 'chai';
import { signsOut } from './sign-out.ts';

describe('a link', () => {
  const isSignOut = (path: string): boolean => signsOut(new URL(path, 'https://example.org'));

  const SIGN_OUT = [
    ...['/logout', '/users/sign_out', '/account/log-off/', '/Logout.aspx', '/wp-login.php?action=logout&nonce=1', '/?logout=1'],
    ...['/abmelden', '/konto/ausloggen', '/d%C3%A9connexion', '/deconnexion/x', '/uitloggen'],
    ...['/index.php?route=account/logout', '/?q=user/logout', '/index.php?option=com_users&task=user.logout', '/?cmd=doLogout'],
    ...['/index.php?title=Special:UserLogout', '/app/doLogout.do', '/LogoutServlet', '/Account/UserLogOff'],
    ...['/wyloguj', '/oidc/end_session', '/%E0/logout', '/#/account/logout'],
  ];

  it('signs out if its path or a parameter says so', () => {
    for (const path of SIGN_OUT) expect(isSignOut(path), path).to.equal(true);
  });

  it('signs out if letters of the word are encoded', () => {
    for (const path of SIGN_OUT) {
      const encoded = path.replace(/[a-z]/gi, (letter) => `%${letter.charCodeAt(0).toString(16)}`);
      if (!path.includes('%')) expect(isSignOut(encoded), encoded).to.equal(true);
    }
  });

  it('does not sign out because a word of its path contains one for it', () => {
    for (const path of [
      '/',
      '/blogouts',
      '/catalogout',
      '/login',
      '/signal/offers',
      '/search?q=how+to+logout',
      '/escitalopram',
      '/log/outages',
      '/catalogOutlet',
      '/?name=BlogOutdoor',
      '/search?q=how userLogout works',
      '/search?q=route%20to%20account/logout%20page',
    ])
      expect(isSignOut(path), path).to.equal(false);
  });
});
