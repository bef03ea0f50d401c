/** A site of three pages with a release that fixes one root cause and adds another. */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface Shop {
  url: string;
  /** Fixes the link to the cart, and adds a picture without a text to each page. */
  release(): void;
  close(): void;
}

const CART = '<a id="cart" href="/offers"></a>';
const BANNER = '<img id="banner" src="/banner.png" width="40" height="40">';
const PAGES: Readonly<Record<string, readonly [title: string, body: string]>> = {
  '/': ['Shop', '<a href="/contact">Contact</a> <a href="/offers">Offers</a>'],
  '/contact': ['Contact', '<form><input name="mail"></form>'],
  '/offers': ['Offers', '<p style="color:#bbb">Only today</p>'],
};

/** What a developer changes in the markup for each rule. */
const FIXES: Readonly<Record<string, readonly [fault: string, fixed: string]>> = {
  'link-name': [CART, '<a id="cart" href="/offers">Cart</a>'],
  label: ['<input name="mail">', '<label>E-mail <input name="mail"></label>'],
  'color-contrast': ['color:#bbb', 'color:#333'],
};

/**
 * @param host where scanners reach it
 * @param fixed the rules whose faults this copy of the shop does not have
 */
export async function openShop(host: string, fixed: readonly string[] = []): Promise<Shop> {
  let shared = CART;
  const server = createServer((request, response) => {
    const page = PAGES[new URL(request.url!, 'http://shop').pathname];
    if (page === undefined) return void response.writeHead(404).end();
    const [title, body] = page;
    const html = `<!doctype html><html lang="en"><head><title>${title}</title></head><body><header>${shared}</header><main><h1>${title}</h1>${body}</main></body></html>`;
    const copy = fixed.reduce((markup, rule) => markup.replace(...FIXES[rule]!), html);
    response.writeHead(200, { 'content-type': 'text/html' }).end(copy);
  });
  await new Promise<void>((resolve) => server.listen(0, host, resolve));
  return {
    url: `http://${host}:${(server.address() as AddressInfo).port}/`,
    release: () => void (shared = `<a id="cart" href="/offers">Cart</a>${BANNER}`),
    close() {
      server.closeAllConnections();
      server.close();
    },
  };
}
