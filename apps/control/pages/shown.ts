import { isOwnAddress, type Html } from './html.js';

/** A browser is to ask for another page, with GET. Handlers return it; guards throw it. */
export class Redirect {
  /** @param to an address on this server, or another one that was checked. */
  constructor(readonly to: string) {}
}

/** A page with a status of its own: Nest would answer a POST with 201. */
export class Shown {
  constructor(
    readonly page: Html,
    readonly status = 200,
    /** An origin elsewhere that its forms may lead to. */
    readonly formsTo?: string,
  ) {}
}

const maxNextChars = 1024;

/** A path as it may stand in a header: other characters are percent-encoded. */
const pathPattern = /^\/[!-~]*$/;

/** The page to go on to; the start in place of an address elsewhere, or of what is no address. */
export const ownAddress = (next: unknown): string =>
  typeof next === 'string' && pathPattern.test(next) && next.length <= maxNextChars && isOwnAddress(next) ? next : '/';
