import { mayAs, type Permission } from '#model';
import { assetUrl, type AssetName } from './assets.js';
import { html, type Html, type Piece } from './html.js';
import type { Visit } from './visit.js';

/** The rooms that the navigation leads to, and what somebody must be allowed to do there. */
const rooms = {
  '/': { name: 'Sources', may: 'read' },
  '/alerts': { name: 'Alerts', may: 'read' },
  '/monitors': { name: 'Monitors', may: 'read' },
  '/targets': { name: 'Targets', may: 'targets' },
  '/keys': { name: 'Keys', may: 'keys' },
  '/people': { name: 'People', may: 'people' },
  '/audit': { name: 'Audit', may: 'audit' },
} as const satisfies Readonly<Record<string, { readonly name: string; readonly may: Permission }>>;
export type Room = keyof typeof rooms;

/** What is different from page to page. */
export interface Content {
  readonly title: string;
  readonly main: Piece;
  /** Undefined where anybody may look, and nobody has signed in. */
  readonly visit?: Visit;
  /** The room that the page belongs to. */
  readonly room?: Room;
  /** What a browser runs beside it. The page is complete without. */
  readonly script?: AssetName;
}

/** A whole page. */
export const layout = ({ title, main, visit, room, script }: Content): Html =>
  html`<!doctype html>
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <title>${title} · Headwater</title>
        <link rel="stylesheet" href="${assetUrl('style.css')}" />
        <link rel="icon" type="image/svg+xml" href="${assetUrl('icon.svg')}" />
        ${script && html`<script type="module" src="${assetUrl(script)}"></script>`}
      </head>
      <body>
        <a class="skip" href="#main">Skip to the content</a>
        <header class="top">
          <a class="brand" href="/"
            ><svg class="mark" viewBox="0 0 24 24" aria-hidden="true"><path d="M3 8c4 0 4 4 9 4s5-4 9-4M3 15c4 0 4 4 9 4s5-4 9-4" /></svg
            >Headwater</a
          >
          ${visit && [navigation(visit, room), who(visit)]}
        </header>
        <main id="main" tabindex="-1">${main}</main>
      </body>
    </html> `;

const navigation = ({ person }: Visit, here: Room | undefined): Html =>
  html`<nav aria-label="Main">
    <ul>
      ${Object.entries(rooms)
        .filter(([, { may }]) => mayAs(person.role, may))
        .map(
          ([href, { name }]) =>
            html`<li>${href === here ? html`<a href="${href}" aria-current="page">${name}</a>` : html`<a href="${href}">${name}</a>`}</li>`,
        )}
    </ul>
  </nav>`;

const who = ({ person, organization, organizations }: Visit): Html =>
  html`<ul class="who" aria-label="You">
    <li>${organizations.length > 1 ? html`<a href="/account#organizations">${organization.name}</a>` : organization.name}</li>
    <li><a href="/account">${person.email}</a></li>
    <li>
      <form method="post" action="/sign-out"><button class="link">Sign out</button></form>
    </li>
  </ul>`;
