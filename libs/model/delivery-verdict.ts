/**
 * What an answer says about a delivery:
 *
 * - `taken`: it has come.
 * - `later`: it cannot be taken now. It is tried again for a day.
 * - `misplaced`: nobody takes deliveries there, or none from us. That lasts, unless somebody is at work on the receiver: it is tried again for
 *   `maxMisplacedMs`.
 * - `refused`: this delivery is not wanted, and another attempt would be answered in the same way. It is not tried again.
 * - `blocked`: its address is inside of a network that the operator has not allowed, so nothing was sent. It is not tried again.
 * - `gone`: nothing is wanted there any more. The target is paused.
 */
export type DeliveryVerdict = 'taken' | 'later' | 'misplaced' | 'refused' | 'blocked' | 'gone';

/** Longer than a receiver takes to start again with what was missing. */
export const maxMisplacedMs = 600_000;

/** The statuses of HTTP that say something else than others of their hundred. */
const ofStatus: Readonly<Record<number, DeliveryVerdict>> = {
  // The URL, which holds all that may let us in, is wrong, or will be right again: a proxy says 404 or 405 while what is behind it starts.
  401: 'misplaced',
  402: 'misplaced',
  403: 'misplaced',
  404: 'misplaced',
  405: 'misplaced',
  407: 'misplaced',
  // The request is fine, and the moment is not.
  408: 'later',
  409: 'later',
  421: 'later',
  423: 'later',
  425: 'later',
  429: 'later',
  // Standard Webhooks have a receiver say so that wants no more.
  410: 'gone',
};

/** By the first digit of a status. Redirects that reach us were not followed, so the URL is wrong. */
const ofHundred: Readonly<Record<number, DeliveryVerdict>> = { 2: 'taken', 3: 'misplaced', 4: 'refused', 5: 'later' };

/** What an HTTP status says. */
export const httpVerdict = (status: number): DeliveryVerdict => ofStatus[status] ?? ofHundred[Math.floor(status / 100)] ?? 'later';

/**
 * What the reply of an SMTP server says: 5xx is for good, 4xx for now.
 *
 * @param isOfMail whether it replies to the receiver or to the text of the mail. What it says before, such as that a password is wrong, is about
 * the operator's server, and does not make the mail a wrong one.
 */
export const mailVerdict = (status: number, isOfMail: boolean): DeliveryVerdict => (isOfMail && status >= 500 ? 'refused' : 'later');
