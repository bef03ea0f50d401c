/** The language of the pages before sign-in. */
import { expect } from 'chai';
import { createClient } from './client.ts';
import { useContext } from './context.ts';

const language = (text: string): string => /<html lang="(\w+)">/.exec(text)![1]!;

describe('the language of the dashboard', () => {
  const context = useContext();

  it('is what the browser asks for, of those there are, and English otherwise', async () => {
    const client = createClient(context.url);
    const asked = { 'Accept-Language': 'it,de-CH;q=0.9,en;q=0.5' };
    const german = await client.get('/dashboard/sign-in', asked);
    expect([language(german.text), german.text.includes('Passwort vergessen?')]).to.deep.equal(['de', true]);
    expect(language((await client.get('/dashboard/sign-in', { 'Accept-Language': 'it' })).text)).to.equal('en');
    const missing = await client.get('/dashboard/invitation/unknown', asked);
    expect([missing.status, missing.text.includes('Diese Einladung gilt nicht mehr')]).to.deep.equal([404, true]);
  });

  it('stays what a person chose in this browser, also after a form', async () => {
    const client = createClient(context.url);
    const chosen = await client.get('/dashboard/sign-in?language=pl&next=%2Fdashboard%2Fcredits');
    expect(chosen.text).to.include('href="/dashboard/sign-in?language=fr&amp;next=%2Fdashboard%2Fcredits"');
    const cookie = chosen.headers.getSetCookie().find((line) => line.startsWith('curbcut_language'));
    expect(cookie).to.equal('curbcut_language=pl; Max-Age=31536000; Path=/dashboard; HttpOnly; Secure; SameSite=Lax');
    const refused = await client.submit('/dashboard/sign-in', { email: 'nobody@people.example', password: 'wrong' });
    expect([refused.status, language(refused.text)]).to.deep.equal([422, 'pl']);
    expect(refused.text).to.include('Adres e-mail lub hasło są nieprawidłowe.');
  });
});
